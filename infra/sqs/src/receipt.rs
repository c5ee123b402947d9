//! Receipts: identify one reception of a message; valid until the message is received again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// One reception of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) queue: i64,
    pub(crate) seq: i64,
    /// The message's count of receptions, including this one.
    pub(crate) receives: i64,
}

impl Receipt {
    /// The handle given to the receiver.
    pub(crate) fn to_handle(self) -> String {
        let plain = format!("{}.{}.{}", self.queue, self.seq, self.receives);
        BASE64.encode(format!("{plain}.{}", seal(&plain)))
    }

    /// The receipt of a handle, if this endpoint issued it.
    pub(crate) fn from_handle(handle: &str) -> Option<Self> {
        let sealed = String::from_utf8(BASE64.decode(handle).ok()?).ok()?;
        let (plain, mark) = sealed.rsplit_once('.')?;
        if mark != seal(plain) {
            return None;
        }
        let mut parts = plain.split('.').map(|part| part.parse().ok());
        Some(Self { queue: parts.next()??, seq: parts.next()??, receives: parts.next()?? })
    }
}

/// A checksum, not a secret: it only tells a handle from arbitrary text.
fn seal(plain: &str) -> String {
    format!("{:x}", md5::compute(format!("receipt {plain}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_reads_back_as_the_receipt_it_was_written_from() {
        let receipt = Receipt { queue: 1, seq: 42, receives: 3 };
        assert_eq!(Receipt::from_handle(&receipt.to_handle()), Some(receipt));
    }

    #[test]
    fn nothing_else_is_a_handle() {
        let forged = BASE64.encode("1.42.3.0000");
        for garbage in ["", "x", "not a handle", "AQEB", "é", &forged] {
            assert_eq!(Receipt::from_handle(garbage), None, "{garbage:?}");
        }
    }
}
