//! The store: one SQLite file with all queues and their messages.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::refusal::Refusal;

/// Why the queues could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// SQLite refused: the path, the permissions, or a file of another kind.
    #[error("open queue store")]
    Sqlite(#[from] rusqlite::Error),
    /// A file of an unknown format is refused rather than misread.
    #[error("open queue store: the file has format {0}, made by a later version of belfry")]
    LaterFormat(i64),
}

/// The connection, used by one call at a time. Every section under the lock is a handful of indexed
/// statements, and none of them waits.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Mutex<Connection>,
}

/// `seq` is the order of arrival and never reused, so that what is derived from it (message ids,
/// receipt handles) is unambiguous. Instants are milliseconds since 1970. `receives` counts over a
/// message's life, `receives_here` since it came to this queue: receivers are told the first, and a
/// redrive policy limits the second.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS queues (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        settings TEXT NOT NULL,
        tags TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        modified_at INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        queue INTEGER NOT NULL,
        visible_at INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        first_received_at INTEGER,
        received_at INTEGER,
        receives INTEGER NOT NULL DEFAULT 0,
        receives_here INTEGER NOT NULL DEFAULT 0,
        dead_letter_source TEXT,
        group_id TEXT,
        trace TEXT,
        attributes TEXT,
        body TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS messages_by_visibility ON messages (queue, visible_at);
    CREATE INDEX IF NOT EXISTS messages_by_group ON messages (queue, group_id, visible_at);
    CREATE TABLE IF NOT EXISTS move_tasks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL,
        destination TEXT,
        rate INTEGER,
        started_at INTEGER NOT NULL,
        moved INTEGER NOT NULL,
        to_move INTEGER NOT NULL,
        failure TEXT
    );
";

/// Stored in the file, for later versions to check.
const FORMAT: i64 = 1;

/// Pages after which the log is checkpointed into the file with a sync (40 MB): ten times less
/// often than SQLite's default.
const LOG_PAGES: i64 = 10_000;

/// More than the number of statements in this crate, so that each is parsed once.
const STATEMENTS: usize = 64;

impl Store {
    /// The store in this file, created if missing.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        Self::over(Connection::open(path)?)
    }

    /// A store in memory, lost when this process ends.
    pub(crate) fn memory() -> Result<Self, OpenError> {
        Self::over(Connection::open_in_memory()?)
    }

    fn over(connection: Connection) -> Result<Self, OpenError> {
        // A commit hands the log to the operating system, so a killed process loses nothing
        // acknowledged. Only a power cut can lose the last commits; a sync per commit would cost
        // most of the throughput to protect a development machine from that.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if format > FORMAT {
            return Err(OpenError::LaterFormat(format));
        }
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Makes every message in flight receivable at `now`. A message that waits for its delay was
    /// not received and stays delayed.
    pub(crate) fn release_all(&self, now: i64) -> Result<(), rusqlite::Error> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let release = "UPDATE messages SET visible_at = ?1 \
                       WHERE receives > 0 AND visible_at > ?1";
        connection.execute(release, [now])?;
        Ok(())
    }

    /// The earliest instant at which a message of this queue is, or was, receivable.
    pub(crate) fn next_visible_at(&self, queue: &str) -> Result<Option<i64>, rusqlite::Error> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = "SELECT min(visible_at) FROM messages \
                        WHERE queue = (SELECT id FROM queues WHERE name = ?1)";
        connection.query_row(earliest, [queue], |row| row.get(0))
    }

    /// Runs `work` in a transaction: all of it or none.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        // A panic under the lock dropped its transaction, which rolled it back.
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Runs a read.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        work(&self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
