defmodule Shop.CartTest do
  use ExUnit.Case

  test "adds an item" do
    assert Shop.Cart.add(%{items: []}, 1)
  end
end
