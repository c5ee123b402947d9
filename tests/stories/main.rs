//! Stories against the whole: the real handlers and the real SDK clients on the embedded services,
//! in a world whose time can be moved.

mod access;
mod addressing;
mod api;
mod backfilling;
mod batches;
mod chains;
mod changes;
mod checking;
mod console;
mod cost;
mod counting;
mod declaring;
mod document;
mod editor;
mod edits;
mod feedback;
mod firing;
mod launching;
mod ledger;
mod limits;
mod outages;
mod pages;
mod pausing;
mod policies;
mod queueing;
mod recovering;
mod resource_answers;
mod resource_example;
mod resource_workflows;
mod resources;
mod restoring;
mod scale;
mod sets;
mod targets;
mod versions;
