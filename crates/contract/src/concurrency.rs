//! Many at once: the log stays gap-free and in commit order, and nothing is lost.

use std::{collections::BTreeMap, time::Duration};

use domain::{Event, Seq, TenantId};
use ports::{Committed, EventQuery, ExchangeOutcome, ExchangeTarget, Storage};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    given, log, samples,
};

/// Writers, and tenants.
const MANY: u32 = 64;

/// Rounds in which each writer writes once.
const ROUNDS: u32 = 6;

/// Between two reads that find nothing new: readers that never rest leave the writers of a busy
/// machine no time.
const PAUSE: Duration = Duration::from_millis(1);

/// What one writer was answered, in the order of the answers.
type Answers = Vec<(TenantId, domain::TurnId, Committed)>;

async fn many_tenants(storage: &Storage) -> Vec<TenantId> {
    let mut tenants = Vec::new();
    for number in 0..MANY {
        let tenant = given::tenant_named(storage, &format!("tenant-{number}")).await;
        given::stored_agent_of(storage, &tenant, samples::agent(1)).await;
        tenants.push(tenant);
    }
    tenants
}

/// A writer that makes a conversation with an exchange in each of `tenants`, one after the other.
async fn write(storage: Storage, writer: u32, tenants: Vec<TenantId>) -> Answers {
    let mut answers = Vec::new();
    for (round, tenant) in (0..).zip(tenants) {
        let (number, agent) = (1 + writer * ROUNDS + round, samples::agent(1));
        let target = ExchangeTarget::New(samples::conversation(number, agent.id));
        let mut exchange = samples::exchange(number, &agent, target);
        exchange.question.tenant = tenant.clone();
        let id = exchange.question.turn_id;
        answers.push((tenant, id, given::recorded(&storage, exchange).await));
    }
    answers
}

async fn written_by_all(
    storage: &Storage,
    tenants_of: impl Fn(u32) -> Vec<TenantId>,
) -> Vec<Answers> {
    let mut writers = JoinSet::new();
    for writer in 0..MANY {
        writers.spawn(write(storage.clone(), writer, tenants_of(writer)));
    }
    writers.join_all().await
}

async fn whole_log(storage: &Storage, tenant: &TenantId) -> Vec<Event> {
    let page = storage.events.page(tenant, &log::query(Seq(0))).await;
    let logged = page.answered().events.into_iter();
    logged.map(|logged| logged.event).collect()
}

/// Fails unless every tenant's log is 1, 2, 3 … and holds each answered change just where the
/// answer says, once.
async fn assert_logs_are_whole(storage: &Storage, answers: &[Answers]) {
    let mut changes: BTreeMap<&TenantId, Vec<(Committed, domain::TurnId)>> = BTreeMap::new();
    for (tenant, turn, committed) in answers.iter().flatten() {
        changes.entry(tenant).or_default().push((*committed, *turn));
    }
    for (tenant, mut changes) in changes {
        changes.sort_by_key(|(committed, _)| committed.first);
        let events = whole_log(storage, tenant).await;
        for (place, event) in (1..).zip(&events) {
            assert_eq!(event.seq, Seq(place), "in {tenant}");
        }
        // Event 1 is the agent's.
        let mut next = Seq(2);
        for (committed, turn) in changes {
            assert_eq!((committed.first, committed.last), (next, next.plus(2)));
            let ended = usize::try_from(committed.last.0 - 1).expect("a small log");
            assert_eq!(events[ended].turn_id, Some(turn));
            next = committed.last.plus(1);
        }
        assert_eq!(
            next,
            log::head(storage, tenant).await.plus(1),
            "in {tenant}"
        );
    }
}

/// Each writer's later change of one log stands behind its earlier ones: commit order.
fn assert_answers_ascend(answers: &[Answers]) {
    for answers in answers {
        let mut last: BTreeMap<&TenantId, Seq> = BTreeMap::new();
        for (tenant, _, committed) in answers {
            let before = last.insert(tenant, committed.last);
            assert!(before < Some(committed.first), "in {tenant}");
        }
    }
}

/// 64 writers in 64 tenants, each in a different order: no hole, one event per change.
pub async fn many_writers_in_many_tenants_leave_no_gap(storage: &Storage) {
    let tenants = many_tenants(storage).await;
    let answers = written_by_all(storage, |writer| {
        let step = 2 * writer + 1;
        (0..ROUNDS)
            .map(|round| (writer + round * step) % MANY)
            .map(|place| tenants[place as usize].clone())
            .collect()
    })
    .await;
    assert_logs_are_whole(storage, &answers).await;
    assert_answers_ascend(&answers);
}

/// 64 writers in one tenant: no hole, one event per change, in the order of the commits.
pub async fn many_writers_in_one_tenant_leave_no_gap(storage: &Storage) {
    given::agent(storage, 1).await;
    let tenant = samples::tenant();
    let answers = written_by_all(storage, |_| vec![tenant.clone(); ROUNDS as usize]).await;
    assert_logs_are_whole(storage, &answers).await;
    assert_answers_ascend(&answers);
}

/// Follows a log from its beginning to `head`, as a reader beside the writers does.
async fn follow(storage: Storage, tenant: TenantId, head: Seq) -> Vec<Seq> {
    let (mut since, mut seen) = (Seq(0), Vec::new());
    while since < head {
        let query = EventQuery {
            limit: 7,
            ..log::query(since)
        };
        let page = storage.events.page(&tenant, &query).await.answered();
        seen.extend(page.events.iter().map(|logged| logged.event.seq));
        since = page.next_since;
        if page.events.is_empty() {
            sleep(PAUSE).await;
        }
    }
    seen
}

/// Whoever follows the log while others write sees every event once and in order: none appears
/// behind the position that was read.
pub async fn a_follower_misses_nothing_beside_many_writers(storage: &Storage) {
    given::agent(storage, 1).await;
    let tenant = samples::tenant();
    let head = Seq(1 + 3 * i64::from(MANY * ROUNDS));
    let mut followers = JoinSet::new();
    for _ in 0..3 {
        followers.spawn(follow(storage.clone(), tenant.clone(), head));
    }
    written_by_all(storage, |_| vec![tenant.clone(); ROUNDS as usize]).await;
    for seen in followers.join_all().await {
        let expected: Vec<_> = (1..=head.0).map(Seq).collect();
        assert_eq!(seen, expected);
    }
}

/// A read's position is not later than what it saw: following from there misses no version.
pub async fn a_reads_position_is_never_later_than_what_it_saw(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (reader, tenant, last) = (storage.clone(), samples::tenant(), 60);
    let mut readers = JoinSet::new();
    readers.spawn(async move {
        let mut seen = Vec::new();
        loop {
            let found = reader
                .agents
                .find(&tenant, samples::agent_id(1))
                .await
                .answered();
            let version = found.value.expect("the agent is there").version;
            seen.push((version, found.position));
            if version == last {
                return seen;
            }
            sleep(PAUSE).await;
        }
    });
    let mut present = agent;
    while present.version < last {
        present = samples::renamed(&present, "Grace");
        given::agent_updated(storage, &present).await;
    }
    // Version n was written by event n.
    for (version, position) in readers.join_all().await.concat() {
        assert!(
            position <= Seq(version),
            "version {version} at {position:?}"
        );
    }
}

/// Of updates of one version, one is carried out; the others are `Stale`.
pub async fn one_of_many_updates_of_one_version_is_carried_out(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        let storage = storage.clone();
        let next = samples::renamed(&agent, &format!("Name {writer}"));
        writers.spawn(async move {
            let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
            let answer = storage.agents.update(&tenant, &next, &stamp).await;
            match answer {
                Ok(updated) => updated.map(|_| next),
                Err(ports::RepositoryError::Stale { .. }) => None,
                Err(error) => panic!("neither done nor stale: {error:?}"),
            }
        });
    }
    let winners: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let present = crate::found::agent(storage, agent.id).await;
    assert_eq!(present.as_ref(), winners.first());
    assert_eq!(log::head(storage, &samples::tenant()).await, Seq(2));
}

/// Of many creations with one key, one is carried out; the others repeat it.
pub async fn one_of_many_creations_with_one_key_is_carried_out(storage: &Storage) {
    let mut writers = JoinSet::new();
    for number in 1..=20 {
        let storage = storage.clone();
        writers.spawn(async move {
            let (tenant, stamp, claim) =
                (samples::tenant(), samples::stamp(0), samples::claim("k"));
            let agent = samples::agent(number);
            let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&claim));
            matches!(answer.await.answered(), ports::Once::Done(_))
        });
    }
    let done = writers.join_all().await.into_iter().filter(|done| *done);
    assert_eq!(done.count(), 1);
    assert_eq!(log::head(storage, &samples::tenant()).await, Seq(1));
}

/// Of many conversations with one key, one is made; the others repeat it.
pub async fn one_of_many_conversations_with_one_key_is_made(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=20 {
        let (storage, talk) = (storage.clone(), samples::conversation(number, agent.id));
        writers.spawn(async move {
            let (tenant, stamp, claim) =
                (samples::tenant(), samples::stamp(0), samples::claim("k"));
            let conversations = &storage.conversations;
            let answer = conversations.insert(&tenant, &talk, None, &stamp, Some(&claim));
            matches!(answer.await.answered(), ports::Once::Done(Some(_)))
        });
    }
    let done = writers.join_all().await.into_iter().filter(|done| *done);
    assert_eq!(done.count(), 1);
    assert_eq!(log::head(storage, &samples::tenant()).await, Seq(2));
}

/// A deletion and exchanges at once: what was recorded stands before the deletion, and nothing
/// is recorded after it.
pub async fn nothing_is_recorded_behind_a_deletion(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=32 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            let target = ExchangeTarget::New(samples::conversation(number, agent.id));
            let exchange = samples::exchange(number, &agent, target);
            storage.turns.record_exchange(exchange).await.answered()
        });
    }
    let deletion = given::agent_deleted(storage, &agent).await;
    for outcome in writers.join_all().await {
        match outcome {
            ExchangeOutcome::Recorded { committed, .. } => assert!(committed.last < deletion.first),
            other => assert_eq!(other, ExchangeOutcome::AgentNotFound),
        }
    }
    assert_eq!(log::head(storage, &samples::tenant()).await, deletion.last);
}

/// Conversations and agents are made at once without hindering each other.
pub async fn many_conversations_are_made_at_once(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=MANY {
        let (storage, talk) = (storage.clone(), samples::conversation(number, agent.id));
        writers.spawn(async move {
            let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
            let conversations = &storage.conversations;
            let answer = conversations.insert(&tenant, &talk, None, &stamp, None);
            answer.await.done().expect("the agent is there").first
        });
    }
    let mut places = writers.join_all().await;
    places.sort();
    let expected: Vec<_> = (2..).map(Seq).take(MANY as usize).collect();
    assert_eq!(places, expected);
}
