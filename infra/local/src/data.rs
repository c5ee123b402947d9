//! The data folder: only one `belfry dev` uses it at a time, and the keys in it survive restarts.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::services::StartError;
use crate::tokens::Issuer;

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
    /// Creates the folder if it does not exist, and locks it.
    pub fn take(path: &Path) -> Result<Folder, StartError> {
        let doing = |what: &str| format!("{what} {}", path.display());
        fs::create_dir_all(path).map_err(|e| StartError::Io(doing("create data folder"), e))?;
        let lock = File::create(path.join("lock"))
            .map_err(|e| StartError::Io(doing("write to data folder"), e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = std::io::Error::other("another belfry dev is using it");
                return Err(StartError::Io(doing("lock data folder"), problem));
            }
            Err(TryLockError::Error(e)) => {
                return Err(StartError::Io(doing("lock data folder"), e));
            }
        }
        Ok(Folder { _lock: lock })
    }
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

/// The issuer of a folder's tokens. It does not need the folder's lock, so that `belfry token`
/// works beside a running `belfry dev`.
pub fn issuer_of_folder(path: &Path) -> Result<Issuer, StartError> {
    Issuer::of_key(&kept(path, "token.pem", Issuer::new_key)?)
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
    fs::create_dir_all(folder).map_err(|e| problem("create the folder of", e))?;
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
