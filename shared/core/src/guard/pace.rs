//! Pace: how many calls to a service may be in flight, learnt from the service's responses.
//!
//! The limit grows by one for every round of calls that were served and halves when a call was
//! throttled (additive increase, multiplicative decrease). With this rule, many callers share a
//! service evenly without knowing of each other.

/// The number of calls that may be in flight at the same time.
///
/// ```
/// use belfry_core::guard::pace::Pace;
/// let mut pace = Pace::new(32);
/// assert_eq!(pace.width(), 32);
/// pace.throttled();
/// assert_eq!(pace.width(), 16);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    width: f64,
    most: f64,
    /// The number of responses still to come from calls that were in flight when the limit was last
    /// halved.
    stale: usize,
}

impl Pace {
    /// Starts with the maximum, because a service that does not throttle needs no slow start.
    pub fn new(most: usize) -> Pace {
        let most = most.max(1) as f64;
        Pace { width: most, most, stale: 0 }
    }

    /// The number of calls that may be in flight now. It is at least 1.
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Notes that a call was served.
    pub fn served(&mut self) {
        match self.stale {
            0 => self.width = (self.width + 1.0 / self.width).min(self.most),
            _ => self.stale -= 1,
        }
    }

    /// Notes that a call was throttled.
    pub fn throttled(&mut self) {
        if self.stale > 0 {
            // This call began before the limit was halved and says nothing about the new limit.
            self.stale -= 1;
            return;
        }
        self.stale = self.width() - 1;
        self.width = (self.width / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_that_is_throttled_together_is_one_cut() {
        let mut pace = Pace::new(32);
        (0..32).for_each(|_| pace.throttled());
        assert_eq!(pace.width(), 16);
        (0..16).for_each(|_| pace.throttled());
        assert_eq!(pace.width(), 8);
    }

    #[test]
    fn it_grows_by_one_a_round_and_not_beyond_its_most() {
        let mut pace = Pace::new(8);
        pace.throttled();
        (0..7).for_each(|_| pace.served());
        assert_eq!(pace.width(), 4, "answers of calls from before the cut");
        (0..5).for_each(|_| pace.served());
        assert_eq!(pace.width(), 5);
        (0..1000).for_each(|_| pace.served());
        assert_eq!(pace.width(), 8);
    }

    #[test]
    fn somebody_always_gets_through() {
        let mut pace = Pace::new(8);
        (0..1000).for_each(|_| pace.throttled());
        assert_eq!(pace.width(), 1);
        (0..3).for_each(|_| pace.served());
        assert!(pace.width() >= 2, "and it recovers");
    }

    #[test]
    fn two_who_share_a_service_come_to_share_it_evenly() {
        // The service handles 20 calls at once. One caller begins with many calls, the other with
        // few.
        let (mut wide, mut narrow) = (Pace::new(64), Pace::new(64));
        for _ in 0..5 {
            (0..64).for_each(|_| narrow.throttled());
        }
        for _ in 0..300 {
            let too_many = wide.width() + narrow.width() > 20;
            for pace in [&mut wide, &mut narrow] {
                let width = pace.width();
                (0..width).for_each(|_| if too_many { pace.throttled() } else { pace.served() });
            }
        }
        let (one, other) = (wide.width(), narrow.width());
        assert!(one.abs_diff(other) <= 4 && one + other >= 8, "{one} {other}");
    }
}
