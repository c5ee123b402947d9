//! Receipts: what a receiver holds to settle a message, good until the message is received again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// One reception of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) queue: i64,
    pub(crate) seq: i64,
    /// The message's count of receptions, this one included.
    pub(crate) receives: i64,
}

impl Receipt {
    /// The handle the receiver is given.
    pub(crate) fn to_handle(self) -> String {
        let plain = format!("{}.{}.{}", self.queue, self.seq, self.receives);
        BASE64.encode(format!("{plain}.{}", seal(&plain)))
    }

    /// The receipt behind a handle, if we ever wrote it.
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

/// Not a secret: it only tells a handle from something that looks like one.
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
