//! Stored messages: the rows, and every way they are inserted, moved and deleted.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::refusal::Refusal;

type Stored<T> = Result<T, Refusal>;

/// A message to be stored.
#[derive(Debug)]
pub(crate) struct NewMessage<'a> {
    pub(crate) body: &'a str,
    /// JSON, if the message has attributes.
    pub(crate) attributes: Option<String>,
    pub(crate) group_id: Option<&'a str>,
    pub(crate) trace: Option<&'a str>,
    pub(crate) sent_at: i64,
    pub(crate) visible_at: i64,
}

/// A message stored in a queue.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) seq: i64,
    pub(crate) sent_at: i64,
    pub(crate) first_received_at: Option<i64>,
    pub(crate) receives: i64,
    pub(crate) receives_here: i64,
    /// The name of the queue that moved it to this dead-letter queue.
    pub(crate) dead_letter_source: Option<String>,
    pub(crate) group_id: Option<String>,
    pub(crate) trace: Option<String>,
    pub(crate) attributes: Option<String>,
    pub(crate) body: String,
}

/// A message's state, as its earlier receivers' receipts depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) queue: i64,
    pub(crate) receives: i64,
    pub(crate) received_at: i64,
    pub(crate) visible_at: i64,
}

/// How many messages a queue has in each state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) visible: i64,
    pub(crate) in_flight: i64,
    pub(crate) delayed: i64,
}

impl Message {
    /// Derived from the sequence number, not random: the same on every run, and unique.
    pub(crate) fn id(seq: i64) -> String {
        uuid(&format!("message {seq}"))
    }
}

/// A digest of `name`, in the form of a UUID.
pub(crate) fn uuid(name: &str) -> String {
    let hex = format!("{:x}", md5::compute(name));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Stores a message and returns its sequence number.
pub(crate) fn insert(store: &Connection, queue: i64, message: &NewMessage<'_>) -> Stored<i64> {
    const INSERT: &str = "INSERT INTO messages
        (queue, visible_at, sent_at, group_id, trace, attributes, body)
        VALUES (?, ?, ?, ?, ?, ?, ?)";
    let NewMessage { body, attributes, group_id, trace, sent_at, visible_at } = message;
    store
        .prepare_cached(INSERT)?
        .execute(params![queue, visible_at, sent_at, group_id, trace, attributes, body])?;
    Ok(store.last_insert_rowid())
}

macro_rules! columns {
    () => {
        "SELECT seq, sent_at, first_received_at, receives, receives_here, dead_letter_source,
            group_id, trace, attributes, body FROM messages "
    };
}

/// The message of a group, or of no group, that has been receivable longest.
pub(crate) fn oldest_of(
    store: &Connection,
    queue: i64,
    group: Option<&str>,
    now: i64,
) -> Stored<Option<Message>> {
    const SELECT: &str = concat!(
        columns!(),
        "WHERE queue = ? AND group_id IS ? AND visible_at <= ? ORDER BY visible_at, seq LIMIT 1"
    );
    Ok(store.prepare_cached(SELECT)?.query_row(params![queue, group, now], read).optional()?)
}

/// The next group of a queue, in the order of names.
pub(crate) fn group_after(store: &Connection, queue: i64, last: &str) -> Stored<Option<String>> {
    const SELECT: &str = "SELECT group_id FROM messages WHERE queue = ? AND group_id > ?
        ORDER BY group_id LIMIT 1";
    Ok(store
        .prepare_cached(SELECT)?
        .query_row(params![queue, last], |row| row.get(0))
        .optional()?)
}

/// The messages receivable at `now`, longest waiting first.
pub(crate) fn receivable(
    store: &Connection,
    queue: i64,
    now: i64,
    most: i64,
) -> Stored<Vec<Message>> {
    const SELECT: &str =
        concat!(columns!(), "WHERE queue = ? AND visible_at <= ? ORDER BY visible_at, seq LIMIT ?");
    let mut statement = store.prepare_cached(SELECT)?;
    let messages = statement.query_map([queue, now, most], read)?.collect::<Result<_, _>>()?;
    Ok(messages)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        seq: row.get(0)?,
        sent_at: row.get(1)?,
        first_received_at: row.get(2)?,
        receives: row.get(3)?,
        receives_here: row.get(4)?,
        dead_letter_source: row.get(5)?,
        group_id: row.get(6)?,
        trace: row.get(7)?,
        attributes: row.get(8)?,
        body: row.get(9)?,
    })
}

/// When the queue's next message, not receivable at `now`, becomes receivable.
pub(crate) fn next_visible_at(store: &Connection, queue: i64, now: i64) -> Stored<Option<i64>> {
    const SELECT: &str = "SELECT min(visible_at) FROM messages WHERE queue = ? AND visible_at > ?";
    Ok(store.prepare_cached(SELECT)?.query_row([queue, now], |row| row.get(0))?)
}

/// Marks a message as received until `visible_at`.
pub(crate) fn take(store: &Connection, seq: i64, now: i64, visible_at: i64) -> Stored<()> {
    const UPDATE: &str = "UPDATE messages SET visible_at = ?3, received_at = ?2,
            first_received_at = coalesce(first_received_at, ?2),
            receives = receives + 1, receives_here = receives_here + 1
        WHERE seq = ?1";
    store.prepare_cached(UPDATE)?.execute([seq, now, visible_at])?;
    Ok(())
}

/// Moves a message to the dead-letter queue. It stays the same message: id, age and contents.
pub(crate) fn bury(
    store: &Connection,
    seq: i64,
    target: i64,
    source: &str,
    now: i64,
) -> Stored<()> {
    const UPDATE: &str = "UPDATE messages SET queue = ?2, dead_letter_source = ?3, visible_at = ?4,
            receives_here = 0
        WHERE seq = ?1";
    store.prepare_cached(UPDATE)?.execute(params![seq, target, source, now])?;
    Ok(())
}

/// Sends a copy to another queue as a new message: a new id, a new age, never received.
pub(crate) fn resend(store: &Connection, seq: i64, target: i64, now: i64) -> Stored<()> {
    const INSERT: &str = "INSERT INTO messages
            (queue, visible_at, sent_at, group_id, trace, attributes, body)
        SELECT ?2, ?3, ?3, group_id, trace, attributes, body FROM messages WHERE seq = ?1";
    store.prepare_cached(INSERT)?.execute([seq, target, now])?;
    delete(store, seq)
}

pub(crate) fn holding(store: &Connection, seq: i64) -> Stored<Option<Holding>> {
    const SELECT: &str = "SELECT queue, receives, coalesce(received_at, sent_at), visible_at
        FROM messages WHERE seq = ?";
    let read = |row: &Row<'_>| {
        Ok(Holding {
            queue: row.get(0)?,
            receives: row.get(1)?,
            received_at: row.get(2)?,
            visible_at: row.get(3)?,
        })
    };
    Ok(store.prepare_cached(SELECT)?.query_row([seq], read).optional()?)
}

pub(crate) fn set_visible_at(store: &Connection, seq: i64, visible_at: i64) -> Stored<()> {
    const UPDATE: &str = "UPDATE messages SET visible_at = ?2 WHERE seq = ?1";
    store.prepare_cached(UPDATE)?.execute([seq, visible_at])?;
    Ok(())
}

pub(crate) fn delete(store: &Connection, seq: i64) -> Stored<()> {
    store.prepare_cached("DELETE FROM messages WHERE seq = ?")?.execute([seq])?;
    Ok(())
}

/// Deletes every message of a queue, in flight or not.
pub(crate) fn delete_all(store: &Connection, queue: i64) -> Stored<()> {
    store.prepare_cached("DELETE FROM messages WHERE queue = ?")?.execute([queue])?;
    Ok(())
}

pub(crate) fn count(store: &Connection, queue: i64, now: i64) -> Stored<Counts> {
    const VISIBLE: &str = "SELECT count(*) FROM messages WHERE queue = ? AND visible_at <= ?";
    const HIDDEN: &str = "SELECT count(*), count(nullif(receives_here, 0))
        FROM messages WHERE queue = ? AND visible_at > ?";
    let visible = store.prepare_cached(VISIBLE)?.query_row([queue, now], |row| row.get(0))?;
    let (hidden, in_flight): (i64, i64) = store
        .prepare_cached(HIDDEN)?
        .query_row([queue, now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Counts { visible, in_flight, delayed: hidden - in_flight })
}
