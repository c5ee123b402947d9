//! Fair queues: a group with many messages does not delay the other groups.
//!
//! Amazon serves quiet groups first while one group takes more than its share, without documenting
//! how exactly. Here the groups of a backlog take turns, and the rest of a call goes to the
//! messages that have waited longest.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::messages::{self, Message};
use crate::refusal::Refusal;

/// Groups examined in one call; if there are more, the next call continues after the last one.
const MAX_LOOKED_AT: usize = 64;

/// The group that had the last turn, by queue. Kept in memory only: after a restart the turns begin
/// anew.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<i64, String>>);

/// The messages a receiver gets at `now`.
pub(crate) fn receivable(
    store: &Connection,
    turns: &Turns,
    queue: i64,
    now: i64,
    most: i64,
) -> Result<Vec<Message>, Refusal> {
    let oldest = messages::receivable(store, queue, now, most)?;
    if !is_crowded(&oldest, most) {
        return Ok(oldest);
    }
    let mut all = turns.0.lock().unwrap_or_else(PoisonError::into_inner);
    let last = all.entry(queue).or_default();
    let mut chosen = in_turn(store, queue, now, most as usize, last)?;
    let taken: HashSet<i64> = chosen.iter().map(|message| message.seq).collect();
    let rest = oldest.into_iter().filter(|message| !taken.contains(&message.seq));
    let room = (most as usize).saturating_sub(chosen.len());
    chosen.extend(rest.take(room));
    Ok(chosen)
}

/// Whether messages of other groups may wait behind those of one group.
fn is_crowded(oldest: &[Message], most: i64) -> bool {
    let mut seen = HashSet::new();
    let mut grouped = oldest.iter().filter_map(|message| message.group_id.as_deref());
    oldest.len() as i64 == most && grouped.any(|group| !seen.insert(group) || most == 1)
}

/// The oldest message of each group after `last`, once around. Messages without a group come
/// between the last group and the first.
fn in_turn(
    store: &Connection,
    queue: i64,
    now: i64,
    most: usize,
    last: &mut String,
) -> Result<Vec<Message>, Refusal> {
    let began_behind = last.clone();
    let mut chosen = Vec::new();
    let mut is_around = false;
    for _ in 0..MAX_LOOKED_AT {
        if chosen.len() >= most {
            break;
        }
        let Some(group) = messages::group_after(store, queue, last)? else {
            if is_around {
                break;
            }
            is_around = true;
            last.clear();
            chosen.extend(messages::oldest_of(store, queue, None, now)?);
            continue;
        };
        if is_around && group > began_behind {
            break;
        }
        chosen.extend(messages::oldest_of(store, queue, Some(&group), now)?);
        *last = group;
    }
    Ok(chosen)
}
