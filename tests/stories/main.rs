//! Stories against the whole: the real handlers and the real SDK clients on the embedded services,
//! in a world whose time can be moved.

mod access;
mod api;
mod changes;
mod cost;
mod edits;
mod firing;
mod launching;
mod ledger;
mod limits;
mod queueing;
mod recovering;
mod targets;
