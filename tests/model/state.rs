//! The state: what the tables, the queue and the functions contain at one moment.

/// The fires of the schedule.
pub(crate) const FIRES: usize = 2;
/// The largest number of messages at once; the model panics if it needs more.
pub(crate) const MESSAGES: usize = 8;
/// How often recovery sends a run again.
pub(crate) const MAX_RECOVERIES: u8 = 3;

/// A set of fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fires(u8);

impl Fires {
    pub(crate) fn range(from: usize, until: usize) -> Fires {
        (from..until).fold(Fires::default(), |set, fire| set.with(fire))
    }

    pub(crate) fn with(self, fire: usize) -> Fires {
        Fires(self.0 | 1 << fire)
    }

    pub(crate) fn without(self, fire: usize) -> Fires {
        Fires(self.0 & !(1 << fire))
    }

    pub(crate) fn has(self, fire: usize) -> bool {
        self.0 & 1 << fire != 0
    }

    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..FIRES).filter(move |fire| self.has(*fire))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Status {
    Enqueued,
    Queued,
    Started,
    Success,
    Failed,
    Skipped,
    Abandoned,
}

impl Status {
    pub(crate) fn is_terminal(self) -> bool {
        !matches!(self, Status::Enqueued | Status::Queued | Status::Started)
    }
}

/// A run's record. The attempt is the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) status: Status,
    pub(crate) attempt: u8,
    /// The place of the message that holds the claim.
    pub(crate) holder: Option<u8>,
    pub(crate) lease_over: bool,
    pub(crate) revision: u8,
    pub(crate) recoveries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Clock {
    /// The fire `next_run_at` points at.
    pub(crate) next: usize,
    pub(crate) revision: u8,
    pub(crate) paused: bool,
    pub(crate) active: Fires,
    pub(crate) last_claimed: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) fire: usize,
    pub(crate) revision: u8,
    pub(crate) visible: bool,
    /// Invisible until the lease of the previous delivery expires.
    pub(crate) held: bool,
    pub(crate) dead: bool,
}

/// A tick that works on the clock as it read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Tick {
    pub(crate) seen: usize,
    pub(crate) revision: u8,
    pub(crate) until: usize,
    pub(crate) to_put: Fires,
    pub(crate) to_send: Fires,
    pub(crate) advanced: bool,
}

/// A launcher that received a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Launcher {
    pub(crate) message: u8,
    pub(crate) fire: usize,
    pub(crate) at: Launching,
    /// The clock by which it judged.
    pub(crate) clock: Clock,
    pub(crate) fence: u8,
    /// It claimed after the pause was acknowledged.
    pub(crate) late: bool,
    /// Its lease has expired, and it can know.
    pub(crate) stalled: bool,
}

/// A launcher's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Launching {
    Read,
    Cancel,
    Look,
    FreeEnded,
    Queue,
    ReadAgain,
    LookAgain { active: Fires, last_claimed: Option<usize> },
    Claim,
    TakeSlot,
    FreeForSlot { holders: Fires },
    TakeSlotAgain,
    Skip,
    GiveBackAndRead,
    GiveBackForLater,
    Call,
    Record,
    IsOver,
    Release,
    LookForNext,
    Wake { next: usize },
    ReleaseRefused,
    Delete,
}

/// Recovery's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Recovery {
    Idle,
    Act { fire: usize, step: RecoveryStep, seen: Run, clock: Clock, letter: Option<u8> },
    Send { fire: usize, letter: Option<u8> },
    Release { fire: usize, clock: Clock, letter: Option<u8> },
    LookForNext { fire: usize, clock: Clock, letter: Option<u8> },
    Bury { letter: u8 },
}

/// As decided by `next_step` of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RecoveryStep {
    Leave,
    Resend,
    Nudge,
    TimeOut,
    Cancel,
    Abandon,
}

/// A pause in progress in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pause {
    NotAsked,
    Asked,
    Edited,
    Settling { left: Fires },
    Acknowledged,
}

/// An executor's report on a tracked run, in progress in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Feedback {
    Idle,
    Read { fire: usize },
    Release { fire: usize, clock: Clock },
    LookForNext { fire: usize, clock: Clock },
}

/// Faults that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Faults {
    /// Deaths of a tick, a launcher, recovery or the API between any two steps.
    pub(crate) crashes: u8,
    /// Deliveries of a message that another receiver holds.
    pub(crate) duplicates: u8,
    /// Messages the queue loses.
    pub(crate) losses: u8,
    /// Messages moved to the dead letters.
    pub(crate) dead_letters: u8,
    /// Ticks that read a clock as it was before its last change, because of a stale index.
    pub(crate) stale: u8,
    /// Launchers that exceed their lease.
    pub(crate) stalls: u8,
    /// Launches the target refuses for now.
    pub(crate) refusals: u8,
    /// Recovery's looks at runs that are only late.
    pub(crate) early: u8,
    /// Tracked runs that their executor never reports.
    pub(crate) silences: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    /// The clock before its last advance or edit.
    pub(crate) before: Clock,
    pub(crate) runs: [Option<Run>; FIRES],
    pub(crate) messages: [Option<Message>; MESSAGES],
    pub(crate) ticks: [Option<Tick>; 2],
    pub(crate) launchers: [Option<Launcher>; 2],
    pub(crate) recovery: Recovery,
    pub(crate) pause: Pause,
    pub(crate) feedback: Feedback,
    pub(crate) faults: Faults,
    /// Calls of the target, for each fire.
    pub(crate) calls: [u8; FIRES],
    /// Moments after which it is impossible to know whether a call was made, for each fire.
    pub(crate) ambiguous: [u8; FIRES],
    /// Called by a launcher that died, or tracked, and not ended since.
    pub(crate) running: Fires,
    /// Two fires ran at once although the policy forbids it.
    pub(crate) overlapped: bool,
    /// A run was claimed after the pause was acknowledged, and called.
    pub(crate) launched_late: bool,
    /// A function died or a message was lost: a slot may wait for the next fire to free it.
    pub(crate) unclean: bool,
}

impl State {
    pub(crate) fn new(faults: Faults, pause: Pause) -> State {
        let clock = Clock {
            next: 0,
            revision: 1,
            paused: false,
            active: Fires::default(),
            last_claimed: None,
        };
        State {
            clock,
            before: clock,
            runs: [None; FIRES],
            messages: [None; MESSAGES],
            ticks: [None; 2],
            launchers: [None; 2],
            recovery: Recovery::Idle,
            pause,
            feedback: Feedback::Idle,
            faults,
            calls: [0; FIRES],
            ambiguous: [0; FIRES],
            running: Fires::default(),
            overlapped: false,
            launched_late: false,
            unclean: false,
        }
    }

    /// Functions of a kind are interchangeable: states that differ only by their order are one.
    pub(crate) fn sort(&mut self) {
        self.ticks.sort_unstable();
        self.launchers.sort_unstable();
    }

    pub(crate) fn status(&self, fire: usize) -> Option<Status> {
        self.runs[fire].map(|run| run.status)
    }

    pub(crate) fn has_ended(&self, fire: usize) -> bool {
        self.status(fire).is_none_or(Status::is_terminal)
    }
}
