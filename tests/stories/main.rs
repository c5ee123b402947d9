//! Stories against the whole: the real handlers and the real SDK clients on the embedded services,
//! in a world whose time can be moved.

mod addressing;
mod api;
mod console;
mod cost;
mod document;
mod editor;
mod edits;
mod firing;
mod launching;
mod ledger;
mod queueing;
mod recovering;
mod targets;
