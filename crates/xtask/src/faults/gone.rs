//! F6: the client goes away while it is answered.

use std::time::Duration;

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};

use super::{
    audit,
    chance::Chance,
    chat::{Chat, Form, PATIENCE, Pace, Place, Speaker, place},
    events::Events,
    findings::Findings,
    ground::{Cast, Ground, Store},
    told::{Deadline, Nodes, Told},
};
use crate::rig::{
    http::{Broken, Incoming, within},
    load::Endpoint,
};

/// How often a client goes away on each store.
const TIMES: usize = 100;
/// Within this time the turn is at its end, from the moment when the client was gone.
const END: Duration = Duration::from_secs(15);

/// Goes away a hundred times.
pub(super) async fn run(ground: &Ground, store: Store) -> Result<Findings> {
    let name = match store {
        Store::Sqlite => "gone_sqlite",
        Store::Postgres => "gone_postgres",
    };
    let done = format!(
        "the client goes during {TIMES} streams, on {}",
        store.name()
    );
    let mut findings = Findings::of("F6", done);
    findings.expect_none(&["not begun", "not completed", "another turn"]);
    let (service, cast) = ground.start(store, name).await?;
    let endpoint = service.endpoint()?;
    let mut chance = Chance::new(ground.seed);
    let mut leaving = JoinSet::new();
    for number in 0..TIMES {
        let chat = chat(&cast, format!("{name}-{number:03}"), number, &mut chance);
        let events = chance.number(0..30);
        leaving.spawn(leave(chat, endpoint.clone(), events));
    }
    let mut all = Vec::new();
    for left in leaving.join_all().await {
        match left {
            Ok(told) => all.push(told),
            Err(broken) => findings.lose("not begun", || broken.to_string()),
        }
    }
    for told in &all {
        match (told.replied.first(), told.accepted.first()) {
            (None, _) => findings.lose("not completed", || format!("{told:?}")),
            (Some(replied), Some(begun)) if replied != begun => {
                findings.lose("another turn", || format!("{told:?}"));
            }
            _ => {}
        }
    }
    audit::run(&endpoint, &all, &mut findings).await?;
    Ok(findings)
}

/// A stream of about thirty events.
fn chat(cast: &Cast, tag: String, number: usize, chance: &mut Chance) -> Chat {
    let pace = Pace {
        first: chance.milliseconds(0..200),
        between: chance.milliseconds(5..30),
        more: 30,
    };
    Chat {
        speaker: Speaker::Scripted(cast.scripted.clone(), pace),
        conversation: None,
        key: number.is_multiple_of(2).then(|| format!("key-{tag}")),
        form: Form::Stream,
        tag,
    }
}

/// Goes away after so many events, then asks for the turn, or repeats the chat by its key.
async fn leave(chat: Chat, endpoint: Endpoint, events: u64) -> Result<Told, Broken> {
    // Without a key, only the first event tells which turn it is.
    let events = if chat.key.is_some() {
        events
    } else {
        events.max(1)
    };
    let begun = within(PATIENCE, begin(&chat, &endpoint, events)).await?;
    let nodes = Nodes::default();
    nodes.are(vec![endpoint]);
    let deadline = Deadline {
        number: 0,
        at: Instant::now() + END,
    };
    let has_key = chat.key.is_some();
    let mut told = Told::nothing(chat);
    told.accepted.extend(begun.clone());
    match begun {
        Some(place) if !has_key => {
            told.wait_for(&place, &nodes, deadline).await;
            Ok(told)
        }
        _ => {
            told.chat.form = Form::Whole;
            Ok(told.ask_until_replied(nodes, deadline).await)
        }
    }
}

/// Reads so many events, and hangs up.
async fn begin(chat: &Chat, endpoint: &Endpoint, events: u64) -> Result<Option<Place>, Broken> {
    let incoming = Incoming::open(endpoint.address, &chat.request(endpoint)).await?;
    if incoming.status != 200 {
        return Err(Broken::Garbled);
    }
    let (mut stream, mut begun) = (Events::new(incoming), None);
    for _ in 0..events {
        let Some(event) = stream.next().await? else {
            break;
        };
        begun = begun.or_else(|| place(&event.data, "turnId"));
    }
    Ok(begun)
}
