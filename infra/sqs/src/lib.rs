//! An embedded SQS for one machine.
