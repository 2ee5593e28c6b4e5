//! A clock that is not set back: what expired does not come back when the system's clock is.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haversack_core::units::Timestamp;

/// The largest difference that is a correction and no jump.
const CORRECTION_MAX_MS: i64 = 60_000;

/// How long the system's clock has to be ahead before it is believed: until then it may be set right again.
const BELIEVED_AFTER: Duration = Duration::from_secs(60 * 60);

/// The system's clock, checked against one that always runs forward.
///
/// A jump back has no effect in this process: time goes on from where it was. A jump forward counts, and
/// setting the clock right after it counts, too, within an hour. Each jump is logged once.
#[derive(Debug)]
pub struct SteadyClock {
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    /// The time at a moment of the clock that runs forward.
    anchor: (Timestamp, Instant),
    /// Since when the system's clock has been ahead.
    ahead_since: Option<Instant>,
    /// Whether the present jump was logged.
    is_logged: bool,
}

impl ClockState {
    /// The time by the clock that runs forward.
    fn steady_at(&self, moment: Instant) -> Timestamp {
        let (start, since) = self.anchor;
        let elapsed = moment.saturating_duration_since(since).as_millis();
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        Timestamp::from_millis(start.as_millis().saturating_add(elapsed))
    }
}

impl Default for SteadyClock {
    fn default() -> SteadyClock {
        SteadyClock::starting(system_time(), Instant::now())
    }
}

impl SteadyClock {
    fn starting(system: Timestamp, moment: Instant) -> SteadyClock {
        let state = ClockState { anchor: (system, moment), ahead_since: None, is_logged: false };
        SteadyClock { state: Mutex::new(state) }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.read(system_time(), Instant::now())
    }

    /// The time without a jump forward, until that has lasted for an hour. What ends after some time does
    /// not end too early by it.
    #[must_use]
    pub fn settled(&self) -> Timestamp {
        self.read_settled(system_time(), Instant::now())
    }

    fn read_settled(&self, system: Timestamp, moment: Instant) -> Timestamp {
        let now = self.read(system, moment);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ahead_since.is_some() { state.steady_at(moment) } else { now }
    }

    /// The time when the system's clock shows `system`.
    fn read(&self, system: Timestamp, moment: Instant) -> Timestamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let steady = state.steady_at(moment).as_millis();
        let ahead = system.as_millis().saturating_sub(steady);
        if ahead.abs() <= CORRECTION_MAX_MS {
            *state = ClockState { anchor: (system, moment), ahead_since: None, is_logged: false };
            return system;
        }
        if !std::mem::replace(&mut state.is_logged, true) {
            let (seconds, way) = (ahead.abs() / 1_000, if ahead > 0 { "forward" } else { "back" });
            tracing::warn!(
                target: "haversack",
                seconds,
                "the system's clock jumped {way}; times go {}",
                if ahead > 0 { "with it" } else { "on as before until a restart" }
            );
        }
        if ahead < 0 {
            state.ahead_since = None;
            return Timestamp::from_millis(steady);
        }
        let ahead_since = *state.ahead_since.get_or_insert(moment);
        if moment.saturating_duration_since(ahead_since) >= BELIEVED_AFTER {
            *state = ClockState { anchor: (system, moment), ahead_since: None, is_logged: false };
        }
        system
    }
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// Reads the clock a number of milliseconds after its start, which was at 1,000 hours.
    fn at(clock: &SteadyClock, start: Instant, elapsed: i64, system: i64) -> i64 {
        let moment = start + Duration::from_millis(u64::try_from(elapsed).unwrap());
        clock.read(Timestamp::from_millis(system), moment).as_millis()
    }

    fn begin() -> (SteadyClock, Instant) {
        let start = Instant::now();
        (SteadyClock::starting(Timestamp::from_millis(1_000 * HOUR), start), start)
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_bring_time_back() {
        let (clock, start) = begin();
        assert_eq!(at(&clock, start, HOUR, 1_001 * HOUR), 1_001 * HOUR);
        assert_eq!(at(&clock, start, 2 * HOUR, 900 * HOUR), 1_002 * HOUR);
        assert_eq!(at(&clock, start, 3 * HOUR, 901 * HOUR), 1_003 * HOUR);
        // Small corrections are followed.
        assert_eq!(at(&clock, start, 4 * HOUR, 1_004 * HOUR - 900), 1_004 * HOUR - 900);
        assert_eq!(at(&clock, start, 5 * HOUR, 1_005 * HOUR - 1_800), 1_005 * HOUR - 1_800);
    }

    #[test]
    fn a_jump_far_forward_counts_and_may_be_set_right_for_an_hour() {
        let (clock, start) = begin();
        assert_eq!(at(&clock, start, 0, 900_000 * HOUR), 900_000 * HOUR);
        assert_eq!(at(&clock, start, HOUR / 2, 1_000 * HOUR + HOUR / 2), 1_000 * HOUR + HOUR / 2);
        // This time it stays.
        assert_eq!(at(&clock, start, HOUR, 2_000 * HOUR), 2_000 * HOUR);
        assert_eq!(at(&clock, start, 2 * HOUR, 2_001 * HOUR), 2_001 * HOUR);
        assert_eq!(at(&clock, start, 3 * HOUR, 1_003 * HOUR), 2_002 * HOUR, "now it is set back");
    }

    #[test]
    fn the_settled_time_follows_a_jump_forward_after_an_hour() {
        let (clock, start) = begin();
        let settled = |elapsed: i64, system: i64| {
            let moment = start + Duration::from_millis(u64::try_from(elapsed).unwrap());
            clock.read_settled(Timestamp::from_millis(system), moment).as_millis()
        };
        assert_eq!(settled(0, 1_000 * HOUR), 1_000 * HOUR);
        assert_eq!(settled(HOUR / 2, 9_000 * HOUR), 1_000 * HOUR + HOUR / 2);
        assert_eq!(settled(HOUR, 9_001 * HOUR), 1_001 * HOUR);
        assert_eq!(settled(2 * HOUR, 9_002 * HOUR), 9_002 * HOUR, "it stayed");
        assert_eq!(settled(3 * HOUR, 1_003 * HOUR), 9_003 * HOUR, "time does not go back");
    }
}
