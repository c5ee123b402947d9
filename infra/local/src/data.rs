//! The data folder: one `belfry dev` at a time, and a signing key that outlives it.

use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::Path;

use belfry_core::id::hex;

use crate::services::StartError;

/// A folder that is ours until this is dropped.
pub struct Folder {
    _lock: File,
    /// Signs what HTTP targets receive.
    pub signing_key: String,
}

impl Folder {
    /// Makes the folder if need be, and takes it.
    pub fn take(path: &Path) -> Result<Folder, StartError> {
        let doing = |what: &str| format!("{what} {}", path.display());
        fs::create_dir_all(path).map_err(|e| StartError::Io(doing("make data folder"), e))?;
        let lock = File::create(path.join("lock"))
            .map_err(|e| StartError::Io(doing("write to data folder"), e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = std::io::Error::other("another belfry dev uses it");
                return Err(StartError::Io(doing("take data folder"), problem));
            }
            Err(TryLockError::Error(e)) => {
                return Err(StartError::Io(doing("lock data folder"), e));
            }
        }
        Ok(Folder { signing_key: signing_key(path)?, _lock: lock })
    }
}

fn signing_key(folder: &Path) -> Result<String, StartError> {
    let path = folder.join("signing.key");
    if let Ok(key) = fs::read_to_string(&path)
        && !key.trim().is_empty()
    {
        return Ok(key.trim().to_owned());
    }
    let key = random_key()?;
    fs::write(&path, &key).map_err(|e| StartError::Io(format!("write {}", path.display()), e))?;
    Ok(key)
}

/// A key nobody else has.
pub fn random_key() -> Result<String, StartError> {
    let mut bytes = [0u8; 32];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|e| StartError::Io("read random bytes".to_owned(), e))?;
    Ok(hex(&bytes))
}
