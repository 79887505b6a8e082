//! Intervals over integers.

use std::cmp::{max, min};
use std::fmt;

const EMPTY: Interval = Interval { lo: 1, hi: 0 };

/// A closed interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    lo: i64,
    hi: i64,
}

pub enum Side {
    Left,
    Right,
}

pub trait Cover {
    const NAME: &'static str;

    fn covers(&self, x: i64) -> bool;

    /// How wide it is.
    fn width(&self) -> i64 {
        0
    }
}

impl Interval {
    /// Makes an interval.
    #[must_use]
    pub fn new(lo: i64, hi: i64) -> Self {
        Self { lo, hi }
    }

    pub fn join(self, other: Self) -> Self {
        Self::new(min(self.lo, other.lo), max(self.hi, other.hi))
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lo, self.hi)
    }
}

macro_rules! interval {
    ($lo:expr, $hi:expr) => {
        Interval::new($lo, $hi)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins() {
        assert_eq!(Interval::new(0, 1).join(EMPTY).hi, 1);
    }
}

/// Twice a number.
#[inline] #[must_use] // cheap
pub fn twice(n: u32) -> u32 {
    2 * n
}
