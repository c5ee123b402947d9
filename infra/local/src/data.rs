//! The data folder: only one `belfry dev` uses it at a time, and the keys in it survive restarts.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::services::StartError;
use crate::tokens::Issuer;

/// The database behind the DynamoDB endpoint.
pub(crate) const DYNAMODB: &str = "dynamodb.sqlite";
/// The database behind the SQS endpoint.
pub(crate) const SQS: &str = "sqs.sqlite";
const DATABASES: [&str; 2] = [DYNAMODB, SQS];
const LOCK: &str = "lock";

/// A data folder locked by this process until the value is dropped.
pub struct Folder {
    _lock: File,
}

/// The secret keys of a local system.
pub struct Keys {
    /// Signs the requests to HTTP targets.
    pub signing_key: String,
    /// Derives the tokens executors report with.
    pub run_token_key: String,
    /// Signs the tokens of API callers.
    pub issuer: Issuer,
}

impl Folder {
    /// Creates the folder if it does not exist, locks it, and makes everything in it private to its
    /// user: it holds the payloads of all runs, and keys.
    pub fn take(path: &Path) -> Result<Folder, StartError> {
        let doing = |what: &str| format!("{what} {}", path.display());
        let is_ours = !path.exists() || path.join(LOCK).exists();
        make(path).map_err(|e| StartError::Io(doing("create data folder"), e))?;
        let written = |e| StartError::Io(doing("write to data folder"), e);
        let lock = private(&path.join(LOCK)).map_err(written)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = io::Error::other("another belfry dev is using it");
                return Err(StartError::Io(doing("lock data folder"), problem));
            }
            Err(TryLockError::Error(e)) => {
                return Err(StartError::Io(doing("lock data folder"), e));
            }
        }
        // A folder that existed before and holds other files keeps its mode.
        if is_ours {
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(written)?;
        }
        for name in DATABASES {
            private(&path.join(name)).map_err(written)?;
            // What an earlier version left behind when it was killed.
            for more in ["-wal", "-shm"] {
                let log = path.join(format!("{name}{more}"));
                if log.exists() {
                    private(&log).map_err(written)?;
                }
            }
        }
        Ok(Folder { _lock: lock })
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a file that only its user may read and write, and creates it if it does not exist. SQLite
/// takes an empty file as a new database, and gives the files beside it the same mode.
fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

impl Keys {
    /// The keys stored in a folder, created at its first use.
    pub fn of_folder(path: &Path) -> Result<Keys, StartError> {
        Ok(Keys {
            signing_key: kept(path, "signing.key", random_key)?,
            run_token_key: kept(path, "run-token.key", random_key)?,
            issuer: issuer_of_folder(path)?,
        })
    }

    /// New keys that are not stored and end with the process.
    pub fn for_now() -> Result<Keys, StartError> {
        Ok(Keys {
            signing_key: random_key()?,
            run_token_key: random_key()?,
            issuer: Issuer::of_key(&Issuer::new_key()?)?,
        })
    }
}

/// The file with the key that signs tokens.
const TOKEN_KEY: &str = "token.pem";

/// Whether a folder has the key that signs tokens.
pub fn has_token_key(folder: &Path) -> bool {
    folder.join(TOKEN_KEY).exists()
}

/// The issuer of a folder's tokens. It does not need the folder's lock, so that `belfry token`
/// works beside a running `belfry dev`.
pub fn issuer_of_folder(path: &Path) -> Result<Issuer, StartError> {
    Issuer::of_key(&kept(path, TOKEN_KEY, Issuer::new_key)?)
}

/// Reads a secret from a file that only its owner may read; creates it if it does not exist.
fn kept(
    folder: &Path,
    name: &str,
    make: impl Fn() -> Result<String, StartError>,
) -> Result<String, StartError> {
    let path = folder.join(name);
    let problem = |what: &str, e| StartError::Io(format!("{what} {}", path.display()), e);
    match fs::read_to_string(&path) {
        Ok(secret) if !secret.trim().is_empty() => return Ok(secret.trim().to_owned()),
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(problem("read", e)),
        _ => {}
    }
    self::make(folder).map_err(|e| problem("create the folder of", e))?;
    let secret = make()?;
    // Written to a draft and linked when complete: another process may create the same secret at
    // the same time, and must not read half of it.
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft);
    file.and_then(|mut file| file.write_all(secret.as_bytes())).map_err(|e| problem("write", e))?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft).map_err(|e| problem("write", e))?;
    match linked {
        Ok(()) => Ok(secret.trim().to_owned()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            let other = fs::read_to_string(&path).map_err(|e| problem("read", e))?;
            Ok(other.trim().to_owned())
        }
        Err(e) => Err(problem("write", e)),
    }
}

/// A random key.
fn random_key() -> Result<String, StartError> {
    let mut bytes = [0u8; 32];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| StartError::Prepare("read random bytes".to_owned()))?;
    Ok(hex::encode(bytes))
}
