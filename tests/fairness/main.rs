//! One owner with ninety thousand fires due at once, another with one: who waits for whom. All of
//! them are one tick's share, which is a hundred thousand at most.
//!
//! `cargo run --package belfry-tests --example fairness -- 90000`

use belfry_tests::crowd::only_one_among;

#[tokio::main]
async fn main() {
    let given = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let count: usize = given.unwrap_or(90_000);
    let place = only_one_among(count).await;
    // A record, an advance, and a tenth of a call to the queue.
    let requests_of = |clocks: usize| clocks * 21 / 10;
    println!("fires of the crowd              {count}");
    println!("requests for all of them        {}", requests_of(count));
    println!("clocks before the only one      {}", place.clocks_before);
    println!("requests before, as they lie    {}", requests_of(place.clocks_before));
    println!("requests before, owners in turn {}", place.requests);
}
