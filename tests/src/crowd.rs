//! A crowd: one owner with very many fires due at the same second as another's only one.

use std::collections::HashMap;

use belfry_core::handover::Stretch;
use belfry_core::id::ScheduleId;
use chrono::Duration;
use dynoxide::types::AttributeValue;
use serde_json::json;

use crate::World;
use crate::embedded::{self, SCHEDULES};

/// How far from the front the only one was.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Requests of the tick before its fire was sent.
    pub requests: usize,
    /// Clocks that come before it in the due index.
    pub clocks_before: usize,
}

/// The request at which the line is cut: far fewer than the crowd takes.
const CUT_AFTER: usize = 3000;

/// Ticks over `count` fires of a crowd and one of ann's, until hers is sent.
pub async fn only_one_among(count: usize) -> Place {
    let world = World::with(&[("TICK_SHARE", "100000"), ("TICK_QUEUE_URL", "")]).await;
    world.schedule("the-only-one", "0 30 0 * * *", &json!({})).await;
    import(&world, count);
    world.pass_without_ticks(Duration::minutes(29)).await;
    let clocks_before = clocks_before(&world).await;
    world.meter.reset();
    world.meter.watch("the-only-one@2026-01-01T00:30:00Z");
    world.meter.cut_after(CUT_AFTER);
    let done = world.meter.until_cut(world.tick_within(Duration::minutes(15))).await;
    assert!(done.is_none() || count < CUT_AFTER, "all of it in {CUT_AFTER} requests: {done:?}");
    let sent = world.meter.sightings().into_iter().find(|(_, what)| what == "SendMessageBatch");
    Place { requests: sent.map_or(usize::MAX, |(before, _)| before), clocks_before }
}

/// Copies of ann's clock under other names, of another owner, written behind the SDK's back to save
/// time.
fn import(world: &World, count: usize) {
    let database = &world.services.database;
    let key = json!({"schedule_id": {"S": "the-only-one"}, "sk": {"S": "clock"}});
    let original = embedded::item(database, SCHEDULES, &key);
    let original: HashMap<String, AttributeValue> =
        serde_json::from_value(original).expect("a clock");
    let shards = world.app.settings.due_shards;
    let copy = |n: usize| {
        let id: ScheduleId = format!("crowd-{n}").parse().expect("a name");
        let mut copy = original.clone();
        let mut set =
            |name: &str, value: String| copy.insert(name.into(), AttributeValue::S(value));
        set("schedule_id", id.to_string());
        set("due_shard", id.shard(shards).to_string());
        set("owner", "crowd".to_owned());
        copy
    };
    let copies: Vec<_> = (0..count).map(copy).collect();
    for chunk in copies.chunks(10_000) {
        let imported = database.import_items(SCHEDULES, chunk.to_vec(), Default::default());
        imported.expect("an import");
    }
}

/// How many clocks come first if they are taken as the index has them.
async fn clocks_before(world: &World) -> usize {
    let only: ScheduleId = "the-only-one".parse().expect("a name");
    let shards = world.app.settings.due_shards;
    let mut stretch = Stretch { shard: only.shard(shards), after: None };
    let mut before = 0;
    loop {
        let until = world.now() + Duration::minutes(2);
        let page = world.app.store.due(&stretch, until, 1000).await.expect("a page");
        if let Some(place) = page.clocks.iter().position(|due| due.schedule_id == only) {
            // The other shards are read at the same pace.
            return (before + place) * shards as usize;
        }
        before += page.clocks.len();
        stretch.after = Some(page.rest.expect("it is in the index"));
    }
}
