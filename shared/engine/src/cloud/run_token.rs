//! Run tokens: an executor proves by a token that a run was handed to it. A token is valid for one
//! run, needs no table, and reveals nothing about the key that made it.

use belfry_core::id::RunId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::settings::Secret;

/// The token of a run. `None`: the deployment has no key and issues no tokens.
pub(crate) fn make(key: &Secret, id: &RunId) -> Option<String> {
    Some(hex::encode(mac(key, id)?.finalize().into_bytes()))
}

/// Whether `token` belongs to the run, compared in constant time.
pub(crate) fn matches(key: &Secret, id: &RunId, token: &str) -> bool {
    let Some(mac) = mac(key, id) else { return false };
    hex::decode(token).is_ok_and(|bytes| mac.verify_slice(&bytes).is_ok())
}

fn mac(key: &Secret, id: &RunId) -> Option<Hmac<Sha256>> {
    if key.0.is_empty() {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(key.0.as_bytes()).ok()?;
    mac.update(b"belfry run token 1:");
    mac.update(id.to_string().as_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_run_and_its_key_alone() {
        let key = Secret("sixteen bytes or more".to_owned());
        let one: RunId = "a@2026-01-01T00:00:00Z".parse().unwrap();
        let other: RunId = "a@2026-01-01T00:00:01Z".parse().unwrap();
        let token = make(&key, &one).unwrap();
        assert!(matches(&key, &one, &token));
        assert!(!matches(&key, &other, &token));
        assert!(!matches(&Secret("another key of length".to_owned()), &one, &token));
        for wrong in ["", "00", &token[1..], &token[..62], &format!("{token}00"), "é", "zz"] {
            assert!(!matches(&key, &one, wrong), "{wrong}");
        }
    }

    #[test]
    fn without_a_key_there_are_no_tokens() {
        let id: RunId = "a@2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(make(&Secret::default(), &id), None);
        assert!(!matches(&Secret::default(), &id, ""));
    }
}
