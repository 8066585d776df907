//! Every method sees and touches one tenant's data only: what is another's is not there.

use domain::{Agent, Conversation, Credential, HistoryLimits, Seq, TenantId};
use ports::{
    AgentFilter, AgentQuery, BeginOutcome, BeginTurn, CancelOutcome, ConversationFilter,
    ConversationQuery, Deletion, ExchangeOutcome, ExchangeTarget, FinishOutcome, HistoryQuery,
    LogBounds, MessageOrder, MessageQuery, NewProof, Storage, TurnEnding,
};

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    found, given, log, samples, upkeep,
};

/// A chat of the samples' tenant with a running turn and a used key, and a tenant beside it.
struct Neighbours {
    agent: Agent,
    talk: Conversation,
    running: BeginTurn,
    other: TenantId,
    head: Seq,
}

impl Neighbours {
    async fn settled(storage: &Storage) -> Self {
        let other = given::another_tenant(storage).await;
        let (agent, talk) = given::chat(storage).await;
        let running = BeginTurn {
            claim: Some(samples::claim("k")),
            ..samples::question(1, &agent, samples::existing(&talk, 0))
        };
        given::started(storage, &running).await;
        Self {
            head: log::head(storage, &samples::tenant()).await,
            agent,
            talk: found::conversation(storage, talk.id).await.expect("stored"),
            running,
            other,
        }
    }

    /// Fails if anything of the samples' tenant has changed, or the other one's log has grown.
    async fn assert_undisturbed(&self, storage: &Storage) {
        let agent = found::agent(storage, self.agent.id).await;
        assert_eq!(agent.as_ref(), Some(&self.agent));
        let talk = found::conversation(storage, self.talk.id).await;
        assert_eq!(talk.as_ref(), Some(&self.talk));
        let running = found::head(storage, self.talk.id).await.running_turn;
        assert_eq!(running, Some(self.running.turn_id));
        assert_eq!(log::head(storage, &samples::tenant()).await, self.head);
        assert_eq!(log::head(storage, &self.other).await, Seq(0));
    }
}

/// Agents: `find`, `list`, `update`, `delete`.
pub async fn agents_of_another_tenant_are_not_there(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours { agent, other, .. } = &neighbours;
    let stamp = samples::stamp(700);
    let found = storage.agents.find(other, agent.id).await.answered();
    assert_eq!((found.value, found.position), (None, Seq(0)));
    for filter in [
        AgentFilter::All,
        AgentFilter::NamePrefix(String::new()),
        AgentFilter::Capability("time".to_owned()),
    ] {
        let query = AgentQuery {
            filter,
            after: None,
            limit: 10,
        };
        let listed = storage.agents.list(other, &query).await.answered();
        assert!(listed.value.items.is_empty(), "{query:?}");
    }
    let next = samples::renamed(agent, "Taken over");
    let updated = storage.agents.update(other, &next, &stamp).await;
    assert_eq!(updated.answered(), None);
    let deleted = storage.agents.delete(other, agent.id, None, &stamp).await;
    assert_eq!(deleted.answered(), Deletion::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Conversations: all reads.
pub async fn conversations_of_another_tenant_are_not_read(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent, talk, other, ..
    } = &neighbours;
    let conversations = &storage.conversations;
    let found = conversations.find(other, talk.id).await.answered();
    assert_eq!((found.value, found.position), (None, Seq(0)));
    let head = conversations.find_head(other, talk.id).await.answered();
    assert_eq!(head.value, None);
    for (agent_id, user_id) in [
        (None, None),
        (Some(agent.id), None),
        (None, talk.user_id.clone()),
    ] {
        let query = ConversationQuery {
            filter: ConversationFilter { agent_id, user_id },
            after: None,
            limit: 10,
        };
        let listed = conversations.list(other, &query).await.answered();
        assert!(listed.value.items.is_empty(), "{query:?}");
    }
    let query = MessageQuery {
        order: MessageOrder::Ascending,
        after: None,
        limit: 10,
    };
    let messages = conversations.messages(other, talk.id, &query).await;
    assert_eq!(messages.answered().value, None);
    let query = HistoryQuery {
        before: 10,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(other, talk.id, &query).await;
    assert!(history.answered().is_empty());
}

/// Conversations: all writes.
pub async fn conversations_of_another_tenant_are_not_touched(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent, talk, other, ..
    } = &neighbours;
    let (conversations, stamp) = (&storage.conversations, samples::stamp(700));
    let new = samples::conversation(9, agent.id);
    let inserted = conversations.insert(other, &new, None, &stamp, None).await;
    assert_eq!(inserted.done(), None, "its agent is another tenant's");
    let next = samples::retitled(talk, "Taken over");
    let updated = conversations.update(other, &next, &stamp).await;
    assert_eq!(updated.answered(), None);
    let deleted = conversations.delete(other, talk.id, None, &stamp).await;
    assert_eq!(deleted.answered(), Deletion::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Turns: `find`, `finish_turn`, `cancel_turn`.
pub async fn turns_of_another_tenant_are_not_there(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours { running, other, .. } = &neighbours;
    let (turns, id) = (&storage.turns, running.turn_id);
    assert_eq!(turns.find(other, id).await.answered().value, None);
    let ending = TurnEnding::Completed(samples::reply(1));
    let mut finish = samples::finish(running, ending);
    finish.tenant = other.clone();
    let finished = turns.finish_turn(finish).await;
    assert_eq!(finished.answered(), FinishOutcome::Refused);
    let stamp = samples::stamp(700);
    let cancelled = turns.cancel_turn(other, id, None, Some(running.node), &stamp);
    assert_eq!(cancelled.await.answered(), CancelOutcome::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Chats: another tenant's agent is not there, nor is its conversation beside one's own agent.
pub async fn nobody_chats_in_another_tenant(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent, talk, other, ..
    } = &neighbours;
    let new = ExchangeTarget::New(samples::conversation(9, agent.id));
    for target in [samples::existing(talk, 1), new] {
        let mut exchange = samples::exchange(5, agent, target);
        exchange.question.tenant = other.clone();
        let question = exchange.question.clone();
        let recorded = storage.turns.record_exchange(exchange).await;
        assert_eq!(recorded.answered(), ExchangeOutcome::AgentNotFound);
        let begun = storage.turns.begin_turn(question).await;
        assert_eq!(begun.answered(), BeginOutcome::AgentNotFound);
    }
    neighbours.assert_undisturbed(storage).await;
    let own = samples::agent(2);
    given::stored_agent_of(storage, other, own.clone()).await;
    let mut exchange = samples::exchange(5, &own, samples::existing(talk, 1));
    exchange.question.tenant = other.clone();
    let question = exchange.question.clone();
    let recorded = storage.turns.record_exchange(exchange).await;
    assert_eq!(recorded.answered(), ExchangeOutcome::ConversationNotFound);
    let begun = storage.turns.begin_turn(question).await;
    assert_eq!(begun.answered(), BeginOutcome::ConversationNotFound);
}

/// The log: pages, bounds and changes.
pub async fn events_of_another_tenant_are_not_shown(storage: &Storage) {
    let Neighbours { other, agent, .. } = Neighbours::settled(storage).await;
    let page = storage.events.page(&other, &log::query(Seq(0))).await;
    let page = page.answered();
    assert!(page.events.is_empty());
    assert_eq!((page.first, page.head), (Seq(1), Seq(0)));
    let bounds = storage.events.bounds(&other).await.answered();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
    let changes = storage.events.changes(&other, Seq(0), 10).await;
    assert!(changes.answered().is_empty());
    // With an id of its own in the same place, the content is its own too.
    let namesake = samples::agent_named(1, "Namesake");
    assert_eq!(namesake.id, agent.id);
    given::stored_agent_of(storage, &other, namesake.clone()).await;
    let page = storage.events.page(&other, &log::query(Seq(0))).await;
    let event = page.answered().events.remove(0).event;
    assert_eq!((event.seq, event.tenant_id), (Seq(1), other));
    assert_eq!(event.data, domain::EventData::Agent { agent: namesake });
}

/// Keys and clients: `list`. To `find` one is to learn its tenant.
pub async fn credentials_of_another_tenant_are_not_listed(storage: &Storage) {
    let other = given::another_tenant(storage).await;
    for own in [samples::key(1), samples::client(1)] {
        let own = given::credential(storage, own).await;
        let (credentials, kind) = (&storage.credentials, own.kind);
        let listed = credentials.list(kind, &other, None, 10).await.answered();
        assert_eq!((listed.items, listed.has_more), (Vec::new(), false));
        let theirs = Credential {
            id: samples::key_id(if own.id == samples::key_id(1) { 2 } else { 3 }),
            tenant: other.clone(),
            ..own.clone()
        };
        let theirs = given::credential(storage, theirs).await;
        for (tenant, credential) in [(&own.tenant, &own), (&other, &theirs)] {
            let listed = credentials.list(kind, tenant, None, 10).await.answered();
            let listed: Vec<_> = listed.items.iter().map(|listed| &listed.item).collect();
            assert_eq!(listed, [credential]);
            let found = found::credential(storage, credential).await;
            assert_eq!(found.as_ref(), Some(credential));
        }
    }
}

/// Keys and clients: `rotate`, `revoke`.
pub async fn credentials_of_another_tenant_are_not_touched(storage: &Storage) {
    let other = given::another_tenant(storage).await;
    let version = found::access_version(storage).await;
    let signing = samples::signing_client(2, samples::key_set(1));
    for (credential, proof) in [
        (samples::key(1), samples::new_secret(8, None)),
        (samples::client(1), samples::new_secret(8, None)),
        (signing, NewProof::Keys(samples::key_set(2))),
    ] {
        let credential = given::credential(storage, credential).await;
        let Credential { kind, id, .. } = &credential;
        let credentials = &storage.credentials;
        let rotated = credentials.rotate(*kind, &other, id, &proof, None).await;
        assert_eq!(rotated.done(), None);
        let revoked = credentials.revoke(*kind, &other, id, samples::at(9)).await;
        assert!(!revoked.answered());
        let found = found::credential(storage, &credential).await;
        assert_eq!(found, Some(credential));
    }
    assert_eq!(found::access_version(storage).await, version);
}

/// A key that one tenant used is unused in another.
pub async fn idempotency_keys_are_each_tenants_own(storage: &Storage) {
    let Neighbours { other, .. } = Neighbours::settled(storage).await;
    let (agent, stamp, claim) = (samples::agent(1), samples::stamp(0), samples::claim("k"));
    let before = storage.claims.find(&other, &claim).await.answered();
    assert_eq!(before, None);
    let answer = storage.agents.insert(&other, &agent, &stamp, Some(&claim));
    answer.await.done();
    let ours = found::claim(storage, &claim).await;
    let theirs = storage.claims.find(&other, &claim).await.answered();
    assert!(ours.is_some_and(|record| record.turn_id.is_some()));
    assert!(theirs.is_some_and(|record| record.turn_id.is_none()));
}

/// Two tenants may hold things of the same ids, and delete them apart.
pub async fn the_same_ids_in_two_tenants_are_two_things(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent,
        talk,
        running,
        other,
        ..
    } = &neighbours;
    given::stored_agent_of(storage, other, samples::agent_named(1, "Namesake")).await;
    let new = samples::conversation(1, agent.id);
    given::stored_conversation_of(storage, other, new).await;
    let theirs = BeginTurn {
        tenant: other.clone(),
        ..samples::question(1, agent, samples::existing(talk, 0))
    };
    given::started(storage, &theirs).await;
    let ending = TurnEnding::Completed(samples::reply(1));
    given::finished(storage, samples::finish(&theirs, ending)).await;
    let (stamp, agents) = (samples::stamp(700), &storage.agents);
    let deleted = agents
        .delete(other, agent.id, None, &stamp)
        .await
        .answered();
    assert!(matches!(deleted, Deletion::Deleted(_)), "{deleted:?}");
    let ours = found::agent(storage, agent.id).await;
    assert_eq!(ours.as_ref(), Some(agent));
    let ours = found::head(storage, talk.id).await;
    assert_eq!(
        (ours.message_count, ours.running_turn),
        (1, Some(running.turn_id))
    );
    assert_eq!(
        log::head(storage, &samples::tenant()).await,
        neighbours.head
    );
    let purged = upkeep::purge_all(storage, 100, upkeep::deleted_before(samples::at(10_000)));
    assert!(purged.await > 0);
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
}
