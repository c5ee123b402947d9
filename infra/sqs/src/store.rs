//! The store: one SQLite file that is the whole truth about queues and their messages.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::refusal::Refusal;

/// The queues could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// SQLite refused: the path, the permissions, or a file that is something else.
    #[error("open queue store")]
    Sqlite(#[from] rusqlite::Error),
    /// A file is refused rather than misread.
    #[error("open queue store: made by a later version, in format {0}")]
    LaterFormat(i64),
}

/// The connection, one call at a time. Every section under the lock is a handful of indexed
/// statements, and none of them waits.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Mutex<Connection>,
}

/// `seq` is the order of arrival and never reused, so that what is derived from it (message ids,
/// receipt handles) is never ambiguous. Instants are milliseconds since 1970. `receives` counts
/// over a message's life, `receives_here` since it came to this queue: the first is what receivers
/// are told, the second is what a redrive policy limits.
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

/// Written into the file, for the versions to come.
const FORMAT: i64 = 1;

/// The log is folded into the file, with a sync, each time it has grown by this much (40 MB): ten
/// times less often than SQLite would on its own.
const LOG_PAGES: i64 = 10_000;

/// More than the statements of this crate, so that each is parsed once.
const STATEMENTS: usize = 64;

impl Store {
    /// The store in this file, made if it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        Self::over(Connection::open(path)?)
    }

    /// A store that ends with this process.
    pub(crate) fn memory() -> Result<Self, OpenError> {
        Self::over(Connection::open_in_memory()?)
    }

    fn over(connection: Connection) -> Result<Self, OpenError> {
        // The log is in the system's hands when a commit returns, so nothing acknowledged dies
        // with the process. Only a power cut can take the last commits; a sync for each would
        // cost most of the throughput to protect a development machine from that.
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

    /// Lets every message in somebody's hands be received again at `now`. A message that waits for
    /// its delay is in nobody's hands.
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

    /// Does all of `work` or none of it.
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

    /// Looks, and changes nothing.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        work(&self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
