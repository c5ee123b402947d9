//! The tick, as in `tick/mod.rs` and `fires/emit.rs`: plan, put, send, advance.

use crate::scenario::Mutation;
use crate::state::{Clock, Fires, State, Tick};
use crate::steps::Steps;
use crate::store::Put;

const WHO: &str = "tick";

impl Steps<'_> {
    pub(crate) fn ticks(&mut self) {
        let places = self.state.ticks.len() - self.scenario.ticks..self.state.ticks.len();
        // Idle ticks are interchangeable: one of them begins.
        if let Some(idle) = places.clone().find(|place| self.state.ticks[*place].is_none()) {
            self.plan(idle);
        }
        for place in places {
            if let Some(tick) = self.state.ticks[place] {
                self.emit(place, tick);
            }
        }
    }

    fn plan(&mut self, place: usize) {
        self.plan_by(place, self.state.clock, "plan");
        if self.state.faults.stale > 0 && self.state.before != self.state.clock {
            self.plan_by(place, self.state.before, "plan by a stale clock");
        }
    }

    /// The look-ahead may end after any of the fires.
    fn plan_by(&mut self, place: usize, clock: Clock, what: &'static str) {
        if clock.paused {
            return;
        }
        for until in clock.next + 1..=self.scenario.fires {
            self.add(WHO, what, None, |state| {
                if clock != state.clock {
                    state.faults.stale -= 1;
                }
                state.ticks[place] = Some(Tick {
                    seen: clock.next,
                    revision: clock.revision,
                    until,
                    to_put: Fires::range(clock.next, until),
                    to_send: Fires::default(),
                    advanced: false,
                });
            });
        }
    }

    fn emit(&mut self, place: usize, tick: Tick) {
        if self.scenario.broken(Mutation::AdvanceBeforePut) && !tick.advanced {
            return self.advance(place, tick);
        }
        if !tick.to_put.is_empty() {
            for fire in tick.to_put.iter() {
                self.add(WHO, "put", fire, |state| put(state, place, tick, fire));
            }
        } else if let Some(fire) = tick.to_send.iter().next() {
            self.add(WHO, "send", fire, |state| {
                state.send(fire);
                let to_send = tick.to_send.without(fire);
                state.ticks[place] = Some(Tick { to_send, ..tick });
            });
        } else if tick.advanced {
            self.add(WHO, "end", None, |state| state.ticks[place] = None);
        } else {
            self.advance(place, tick);
        }
    }

    fn advance(&mut self, place: usize, tick: Tick) {
        let goes_on = self.scenario.broken(Mutation::AdvanceBeforePut);
        self.add(WHO, "advance", None, |state| {
            state.advance(tick.seen, tick.revision, tick.until);
            state.ticks[place] = goes_on.then_some(Tick { advanced: true, ..tick });
        });
    }
}

fn put(state: &mut State, place: usize, tick: Tick, fire: usize) {
    let to_send = match state.put_run(fire, tick.revision) {
        Put::Send => tick.to_send.with(fire),
        Put::Beyond => tick.to_send,
    };
    state.ticks[place] = Some(Tick { to_put: tick.to_put.without(fire), to_send, ..tick });
}
