"""How fast the target decodes with each draft, and whether it says the same: `loads` to decode, `bench` to time it."""
