defmodule Shop.Cart do
  @moduledoc "A cart of items."
  use GenServer
  alias Shop.{Item, Price}

  @timeout 5_000

  @doc """
  Adds an item.
  """
  @spec add(t, Item.t()) :: t
  def add(%{items: items} = cart, item) when is_list(items) do
    %{cart | items: [item | items]}
  end

  def total([]), do: 0
  def total([first | rest]), do: Price.of(first) + total(rest)

  defmacro quietly(do: block) do
    quote do: unquote(block)
  end

  defp empty, do: []
end

defimpl String.Chars, for: Shop.Cart do
  def to_string(cart), do: inspect(cart)
end
