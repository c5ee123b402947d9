//! One owner with a hundred thousand fires due at once, another with one: which fires wait for
//! which. First all of them fit in one tick's share; then the share is the default, and the one
//! fire is beyond it.
//!
//! `cargo run --package belfry-tests --example fairness -- 99000`

use belfry_tests::crowd::{only_one_among, only_one_behind};

/// The default of `TICK_SHARE`.
const SHARE: usize = 10_000;

#[tokio::main]
async fn main() {
    let given = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let count: usize = given.unwrap_or(99_000);
    let place = only_one_among(count).await;
    // Requests per hundred: the clocks are read at once, recorded and advanced by 25, and sent at
    // once.
    let requests_of = |clocks: usize| clocks * 10 / 100;
    println!("fires of the crowd                       {count}");
    println!("requests for all of them                 {}", requests_of(count));
    println!("clocks before the only one               {}", place.clocks_before);
    println!("requests before, in index order          {}", requests_of(place.clocks_before));
    println!("requests before, owners in turn          {}", place.requests);
    let way = only_one_behind(SHARE, count).await;
    println!("requests before, with shares of {SHARE}    {}, of {} ticks", way.requests, way.ticks);
}
