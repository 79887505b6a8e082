# frozen_string_literal: true

require 'json'
require_relative 'store'

module Billing
  RATE = 0.19

  # One line of an invoice.
  class Line
    attr_reader :amount

    def initialize(amount)
      @amount = amount
    end

    # With tax.
    def gross
      amount * (1 + RATE)
    end

    def self.parse(text)
      new(JSON.parse(text).fetch('amount'))
    end

    private

    def round(value)
      value.round(2)
    end
  end
end

def total(lines)
  lines.sum(&:gross)
end

puts total([])
