//! Promises about rows and documents that a newer version of the service has stored.
//!
//! The statements stand for that version: they write what this one cannot write through its ports.

use std::sync::Arc;

use domain::{EventData, EventType, PrincipalId, Seq, TurnStatus};
use ports::{EventQuery, EventVisibility};
use writes::{CancelOutcome, FinishOutcome, TurnEnding};

use crate::{
    Store,
    dead_nodes::{
        LONG, TurnQueue, mark_dead_nodes, promoted_ids, run_sweep, sweep, sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

/// A store that a newer version uses too.
pub trait SharedStore: std::ops::Deref<Target = Store> {
    /// Executes a statement of the newer version.
    fn execute(&self, statement: &'static str) -> impl Future<Output = ()>;
}

/// Runs the tests of what a newer version has stored. `$fixture` returns a [`SharedStore`].
#[macro_export]
macro_rules! newer_version_contract {
    ($fixture:path) => {
        $crate::newer_version_contract! {
            $fixture;
            an_event_of_an_unknown_type_is_delivered_with_its_ids,
            an_event_about_nothing_known_is_visible_to_those_who_see_everything,
            unknown_members_of_an_agent_survive_a_change,
            turns_of_a_higher_level_are_left_to_it,
            a_turn_behind_one_of_a_higher_level_waits,
            callers_can_end_turns_of_a_higher_level,
        }
    };
    ($fixture:path; $($promise:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $promise() {
            let store = $fixture().await;
            $crate::newer_version::$promise(&store).await;
        })*
    };
}

/// Three events after the newest one: of a conversation, of its agent, and of neither.
const EVENTS: [&str; 4] = [
    "insert into events (tenant_id, seq, type, time, agent_id, conversation_id, user_id, turn_id, \
         actor) \
     select e.tenant_id, t.head_seq + 1, 'turn.paused', e.time, e.agent_id, \
         e.conversation_id, e.user_id, e.turn_id, e.actor \
     from events e join tenants t on t.id = e.tenant_id and t.head_seq = e.seq",
    "insert into events (tenant_id, seq, type, time, agent_id, actor) \
     select e.tenant_id, t.head_seq + 2, 'agent.published', e.time, e.agent_id, e.actor \
     from events e join tenants t on t.id = e.tenant_id and t.head_seq = e.seq",
    "insert into events (tenant_id, seq, type, time, actor) \
     select e.tenant_id, t.head_seq + 3, 'tenant.paused', e.time, e.actor \
     from events e join tenants t on t.id = e.tenant_id and t.head_seq = e.seq",
    "update tenants set head_seq = head_seq + 3 where head_seq > 0",
];
const CONFIG: &str = "update agents set config = '{\"greeting\": \"Hi\", \
    \"fallbacks\": [\"rules\", {\"pool\": \"a\"}], \
    \"tools\": [{\"name\": \"shop/*\"}], \"llm\": {\"model\": \"m\", \"reasoning\": {\"effort\": 1.5}}, \
    \"history\": {\"maxMessages\": 3, \"summaries\": false}, \
    \"rules\": [{\"pattern\": \"a\", \"reply\": \"b\", \"call\": {\"tool\": \"t\"}}]}'";
/// A level that no version has reached.
const RAISE_RUNNING: &str = "update turns set level = 1000000 where status = 'in_progress'";
const RAISE_QUEUED: &str = "update turns set level = 1000000 where status = 'queued'";
/// The level of this version.
const LOWER_ALL: &str = "update turns set level = 1";

fn query(visibility: Option<EventVisibility>) -> EventQuery {
    EventQuery {
        since: Seq(0),
        limit: 100,
        bytes: usize::MAX,
        types: Vec::new(),
        agent_id: None,
        conversation_id: None,
        visibility,
    }
}

async fn append_events(store: &impl SharedStore) {
    for statement in EVENTS {
        store.execute(statement).await;
    }
}

/// The log stays readable, and filters by known types leave such an event out.
pub async fn an_event_of_an_unknown_type_is_delivered_with_its_ids(store: &impl SharedStore) {
    let (agent, conversation) = setup::chat(store).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(store, turn).await;
    let before = log::events(store).await.len();
    append_events(store).await;
    let events = log::events(store).await;
    assert_eq!(events.len(), before + 3);
    let types: Vec<_> = events[before..]
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(types, ["turn.paused", "agent.published", "tenant.paused"]);
    assert!(
        events[before..]
            .iter()
            .all(|event| event.data == EventData::Unknown {})
    );
    let of_turn = &events[before];
    assert_eq!(of_turn.turn_id, Some(fixture::turn_id(1)));
    assert_eq!(of_turn.conversation_id, Some(conversation.id));
    assert_eq!(events[before + 1].agent_id, Some(agent.id));
    assert_eq!(
        serde_json::to_value(of_turn).expect("JSON")["data"],
        serde_json::json!({})
    );

    let known = EventQuery {
        types: EventType::ALL.to_vec(),
        ..query(None)
    };
    let tenant = fixture::tenant();
    let page = store.event_page(&tenant, &known).await.success();
    assert_eq!(page.events.len(), before);
    let count = store.events.count(&tenant, &query(None)).await.success();
    assert_eq!(count, before + 3);
}

/// It could be about anything in the tenant.
pub async fn an_event_about_nothing_known_is_visible_to_those_who_see_everything(
    store: &impl SharedStore,
) {
    let (agent, conversation) = setup::chat(store).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(store, turn).await;
    append_events(store).await;
    let all = EventVisibility {
        agents: true,
        whole_agents: true,
        users: true,
        conversations: true,
        principal: PrincipalId::new("key:other"),
        user_id: None,
        reach: domain::AgentReach::ALL,
        audience: domain::Audience::Staff,
    };
    let agents_only = EventVisibility {
        conversations: false,
        ..all.clone()
    };
    let conversations_only = EventVisibility {
        agents: false,
        ..all.clone()
    };
    let owner = EventVisibility {
        user_id: conversation.user_id.clone(),
        ..all.clone()
    };
    let stranger = EventVisibility {
        user_id: Some("nobody".to_owned()),
        ..all.clone()
    };
    let tenant = fixture::tenant();
    let everything = log::page(store, &query(None)).await.events;
    for (visibility, expected) in [
        (
            all,
            &["turn.paused", "agent.published", "tenant.paused"][..],
        ),
        (agents_only, &["agent.published"]),
        (conversations_only, &["turn.paused"]),
        (owner, &["turn.paused", "agent.published"]),
        (stranger, &["agent.published"]),
    ] {
        let unknown = |kind: &EventType| matches!(kind, EventType::Other(_));
        let page = store
            .event_page(&tenant, &query(Some(visibility.clone())))
            .await
            .success();
        let kinds = page.events.iter().map(|logged| logged.event.kind);
        let kinds: Vec<_> = kinds.filter(unknown).collect();
        let types = kinds.iter().map(EventType::as_str);
        assert!(types.eq(expected.iter().copied()), "{visibility:?}");
        let shown = everything.iter().filter(|logged| visibility.shows(logged));
        let shown = shown.map(|logged| logged.event.kind).filter(unknown);
        assert!(shown.eq(kinds), "in memory, for {visibility:?}");
    }
}

/// A change by this version writes them back.
pub async fn unknown_members_of_an_agent_survive_a_change(store: &impl SharedStore) {
    let agent = setup::agent(store, 1).await;
    store.execute(CONFIG).await;
    let stored = lookup::agent(store, agent.id)
        .await
        .expect("it can be read");
    assert_eq!(stored.config.greeting.as_deref(), Some("Hi"));
    let mut next = fixture::renamed(&stored, "Bob");
    next.config.greeting = Some("Hello".to_owned());
    let next = Arc::new(next);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    store.agents.update(&tenant, &next, &stamp).await.success();
    let after = lookup::agent(store, agent.id)
        .await
        .expect("it can be read");
    let config = serde_json::to_value(&after.config).expect("JSON");
    let expected = serde_json::json!({
        "greeting": "Hello",
        "fallbacks": ["rules", {"pool": "a"}],
        "tools": [{"name": "shop/*"}],
        "llm": {"model": "m", "reasoning": {"effort": 1.5}},
        "history": {"maxMessages": 3, "summaries": false},
        "rules": [{"pattern": "a", "reply": "b", "call": {"tool": "t"}}],
    });
    assert_eq!(config, expected);
    let event = log::events(store).await.pop().expect("an event");
    assert_eq!(event.data, EventData::Agent { agent: after });
}

/// No pass of this version ends or starts them, or returns them.
pub async fn turns_of_a_higher_level_are_left_to_it(store: &impl SharedStore) {
    let agent = two_nodes(store).await;
    let left = TurnQueue::begin(store, &agent, 1, 1).await;
    store.execute(RAISE_RUNNING).await;
    store.execute(RAISE_QUEUED).await;
    mark_dead_nodes(store).await;
    let expired = writes::Sweep {
        max_wait: std::time::Duration::ZERO,
        ..sweep()
    };
    let head = log::head(store, &fixture::tenant()).await;
    for pass in [sweep(), expired.clone()] {
        let tenants = store.sweep.tenants_to_sweep(pass.max_wait).await;
        assert_eq!(tenants.success(), []);
        assert_eq!(
            run_sweep(store, &pass).await,
            writes::SweepOutcome::default()
        );
    }
    assert_eq!(store.sweep.queued().await.success(), []);
    let running = store.sweep.in_progress_under(left.running.node).await;
    assert_eq!(running.success(), []);
    let (tenant, problem) = (
        fixture::tenant(),
        domain::Problem::new(domain::ProblemCode::Interrupted),
    );
    let waiting = left.waiting[0].turn_id;
    let failed = store
        .sweep
        .fail_queued(&tenant, waiting, &problem, fixture::at(9))
        .await;
    assert_eq!(failed.success(), None);
    assert_eq!(log::head(store, &tenant).await, head);

    store.execute(LOWER_ALL).await;
    let swept = run_sweep(store, &expired).await;
    assert_eq!(promoted_ids(&swept), [left.running.turn_id]);
    assert_eq!(swept.failed, [waiting]);
}

/// The order of a conversation is kept, also when a turn of this version ends before it.
pub async fn a_turn_behind_one_of_a_higher_level_waits(store: &impl SharedStore) {
    let agent = two_nodes(store).await;
    let queue = TurnQueue::begin(store, &agent, 1, 1).await;
    store.execute(RAISE_QUEUED).await;
    // The newer version writes an event with the level: until then, nodes trust what they know of the turn.
    append_events(store).await;
    let next = fixture::begin_turn(103, &agent, fixture::existing(&queue.conversation, 1));
    setup::queue_turn(store, &next).await;
    let ending = TurnEnding::Completed(fixture::reply(100));
    let finished = store
        .turns
        .finish_turn(fixture::finish(&queue.running, ending))
        .await;
    assert!(matches!(
        finished.success(),
        FinishOutcome::Finished { promoted: None, .. }
    ));
    let tenants = store.sweep.tenants_to_sweep(LONG).await.success();
    assert_eq!(tenants, []);
    assert_eq!(run_sweep(store, &sweep()).await.promoted, []);

    store.execute(LOWER_ALL).await;
    let promoted = run_sweep(store, &sweep()).await.promoted;
    assert_eq!(promoted[0].turn.id, queue.waiting[0].turn_id);
}

/// Cancelling and deleting are demanded, so they work as for other turns.
pub async fn callers_can_end_turns_of_a_higher_level(store: &impl SharedStore) {
    let agent = two_nodes(store).await;
    let queue = TurnQueue::begin(store, &agent, 1, 2).await;
    store.execute(RAISE_RUNNING).await;
    store.execute(RAISE_QUEUED).await;
    append_events(store).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    for turn in [queue.running.turn_id, queue.waiting[0].turn_id] {
        let cancelled = store
            .turns
            .cancel_turn(&tenant, turn, None, Some(sweeper()), &stamp)
            .await;
        let cancelled = cancelled.success();
        assert!(matches!(
            cancelled,
            CancelOutcome::Cancelled { promoted: None, .. }
        ));
    }
    let deleted = store
        .conversations
        .delete(&tenant, queue.conversation.id, None, &stamp)
        .await;
    deleted.success();
    let last = log::events(store).await.pop().expect("an event");
    assert_eq!(last.kind, EventType::ConversationDeleted);
    let found = lookup::turn(store, queue.running.turn_id).await;
    assert!(found.is_none_or(|turn| turn.status == TurnStatus::Cancelled));
}
