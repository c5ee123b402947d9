//! The writes and reads of the engine's `cloud/store` and the queue. Each is one step, under the
//! condition it has in `conditions.rs`.

use crate::state::{Clock, Fires, MESSAGES, Message, Run, State, Status};

/// The result of a fire's put.
pub(crate) enum Put {
    Send,
    Beyond,
}

/// The result of a launcher's claim.
pub(crate) enum Claim {
    Won { fence: u8 },
    Changed,
    Held,
    Busy,
    Over,
    Missing,
}

/// The result of taking a slot.
pub(crate) enum Slot {
    Taken,
    Full(Fires),
    Changed,
}

impl State {
    /// `FIRE_IS_UNCLAIMED`.
    pub(crate) fn put_run(&mut self, fire: usize, revision: u8) -> Put {
        match self.runs[fire] {
            None => {
                self.runs[fire] = Some(Run {
                    status: Status::Enqueued,
                    attempt: 0,
                    holder: None,
                    lease_over: false,
                    revision,
                    recoveries: 0,
                });
                Put::Send
            }
            Some(run) if run.status == Status::Enqueued => Put::Send,
            Some(_) => Put::Beyond,
        }
    }

    /// A place that no message, launcher or claim uses.
    pub(crate) fn send(&mut self, fire: usize) {
        let revision = self.runs[fire].map_or(self.clock.revision, |run| run.revision);
        let is_free = |place: &usize| {
            let named = Some(*place as u8);
            self.messages[*place].is_none()
                && self.launchers.iter().flatten().all(|at_work| Some(at_work.message) != named)
                && self.runs.iter().flatten().all(|run| run.holder != named)
        };
        let place = (0..MESSAGES).find(is_free).expect("more messages than the model has room for");
        self.messages[place] =
            Some(Message { fire, revision, visible: true, held: false, dead: false });
    }

    /// `CLOCK_IS_AS_READ`.
    pub(crate) fn advance(&mut self, seen: usize, revision: u8, next: usize) {
        if self.clock.next == seen && self.clock.revision == revision {
            self.before = self.clock;
            self.clock.next = next;
        }
    }

    /// `RUN_IS_FREE`.
    pub(crate) fn claim_run(&mut self, fire: usize, revision: u8, message: u8) -> Claim {
        let Some(run) = &mut self.runs[fire] else { return Claim::Missing };
        let is_mine = run.holder == Some(message);
        let is_free = match run.status {
            Status::Enqueued | Status::Queued => true,
            Status::Started => is_mine && run.lease_over,
            _ => return Claim::Over,
        };
        if is_free && run.revision <= revision {
            return Claim::Won { fence: run.claim(message) };
        }
        match run.status {
            Status::Started if is_mine && !run.lease_over => Claim::Held,
            Status::Started if !is_mine => Claim::Busy,
            _ => Claim::Changed,
        }
    }

    /// `CLAIM_IS_NEWEST`, or `RUN_IS_STARTED` without a fence.
    pub(crate) fn finish_run(&mut self, fire: usize, fence: Option<u8>, status: Status) -> bool {
        let ended = self.unclaim(fire, fence, status);
        if ended {
            self.running = self.running.without(fire);
        }
        ended
    }

    /// `CLAIM_IS_NEWEST`.
    pub(crate) fn give_back_run(&mut self, fire: usize, fence: u8) -> bool {
        self.unclaim(fire, Some(fence), Status::Enqueued)
    }

    fn unclaim(&mut self, fire: usize, fence: Option<u8>, status: Status) -> bool {
        match &mut self.runs[fire] {
            Some(run)
                if run.status == Status::Started && fence.is_none_or(|f| f == run.attempt) =>
            {
                run.release(status);
                true
            }
            _ => false,
        }
    }

    /// `RUN_IS_UNLAUNCHED`.
    pub(crate) fn cancel_run(&mut self, fire: usize, as_what: Status) -> bool {
        match &mut self.runs[fire] {
            Some(run) if matches!(run.status, Status::Enqueued | Status::Queued) => {
                run.status = as_what;
                true
            }
            _ => false,
        }
    }

    /// `RUN_IS_ENQUEUED`.
    pub(crate) fn queue_run(&mut self, fire: usize) {
        if let Some(run) = &mut self.runs[fire]
            && run.status == Status::Enqueued
        {
            run.status = Status::Queued;
        }
    }

    /// `RUN_IS_AS_READ`.
    pub(crate) fn recover_run(&mut self, fire: usize, seen: Run) -> bool {
        match &mut self.runs[fire] {
            Some(run) if run.status == seen.status && run.attempt == seen.attempt => {
                run.release(Status::Enqueued);
                run.recoveries += 1;
                true
            }
            _ => false,
        }
    }

    /// `SLOT_IS_FREE`.
    pub(crate) fn take_slot(&mut self, fire: usize, revision: u8, max: usize) -> Slot {
        let clock = &mut self.clock;
        if clock.revision != revision {
            return Slot::Changed;
        }
        if clock.active.count() >= max && !clock.active.has(fire) {
            return Slot::Full(clock.active);
        }
        clock.active = clock.active.with(fire);
        clock.last_claimed = Some(fire);
        Slot::Taken
    }

    pub(crate) fn release_slot(&mut self, fire: usize) {
        self.clock.active = self.clock.active.without(fire);
    }

    /// Frees the slots of runs that have ended, except one's own. `true` if one was freed.
    pub(crate) fn free_ended(&mut self, holders: Fires, me: usize) -> bool {
        let ended: Vec<_> =
            holders.iter().filter(|holder| *holder != me && self.has_ended(*holder)).collect();
        ended.iter().for_each(|holder| self.release_slot(*holder));
        !ended.is_empty()
    }

    /// Whether it is a run's turn, by the clock as it was read and the current runs.
    pub(crate) fn is_turn(
        &self,
        me: usize,
        active: Fires,
        last_claimed: Option<usize>,
        max: usize,
    ) -> bool {
        let from = last_claimed.filter(|last| *last < me).unwrap_or(0);
        let before_me = (from..me).any(|earlier| !self.has_ended(earlier) && !active.has(earlier));
        !before_me && active.without(me).count() < max
    }

    /// The waiting run whose turn is next after `ended`.
    pub(crate) fn next_queued(&self, clock: &Clock, ended: usize) -> Option<usize> {
        let from = clock.last_claimed.map_or(ended, |last| last.min(ended));
        (from..self.runs.len()).find(|fire| self.status(*fire) == Some(Status::Queued))
    }
}

impl Run {
    pub(crate) fn claim(&mut self, message: u8) -> u8 {
        self.status = Status::Started;
        self.attempt += 1;
        self.holder = Some(message);
        self.lease_over = false;
        self.attempt
    }

    fn release(&mut self, status: Status) {
        self.status = status;
        self.holder = None;
        self.lease_over = false;
    }
}
