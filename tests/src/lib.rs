//! Support for the stories: a world whose clock the test moves, an executor that records its
//! requests, and a meter on every request.

pub mod aws;
pub mod checker;
pub mod crowd;
pub mod dice;
pub mod door;
pub mod embedded;
pub mod executor;
pub mod flaky;
pub mod line;
pub mod meter;
pub mod metered;
pub mod policy;
pub mod sim;
pub mod stack;
pub mod template;
pub mod warden;
pub mod world;

pub use executor::{Executor, Launch};
pub use flaky::Flaky;
pub use line::Line;
pub use meter::Meter;
pub use metered::Metered;
pub use stack::Stack;
pub use template::Template;
pub use warden::Warden;
pub use world::World;
