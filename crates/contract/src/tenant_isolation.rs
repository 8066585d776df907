//! Every method reads and changes one tenant's data only; data of other tenants does not exist for
//! it.

use domain::{Agent, Conversation, Credential, HistoryLimits, Seq, TenantId};
use ports::{
    AgentFilter, AgentQuery, BeginOutcome, BeginTurn, CancelOutcome, ConversationFilter,
    ConversationQuery, ConversationTarget, Deletion, FinishOutcome, HistoryQuery, LogBounds,
    MessageOrder, MessageQuery, NewProof, RecordTurnOutcome, Storage, TurnEnding,
};

use crate::{
    fixture, log, lookup, purging,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// A chat of the fixture's tenant with a running turn and a used key, and a second tenant.
struct Neighbours {
    agent: Agent,
    conversation: Conversation,
    running: BeginTurn,
    other: TenantId,
    head: Seq,
}

impl Neighbours {
    async fn settled(storage: &Storage) -> Self {
        let other = setup::second_tenant(storage).await;
        let (agent, conversation) = setup::chat(storage).await;
        let running = BeginTurn {
            claim: Some(fixture::entry("k")),
            ..fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0))
        };
        setup::start_turn(storage, &running).await;
        Self {
            head: log::head(storage, &fixture::tenant()).await,
            agent,
            conversation: lookup::conversation(storage, conversation.id)
                .await
                .expect("stored"),
            running,
            other,
        }
    }

    /// Asserts that nothing of the fixture's tenant has changed, and the other tenant's log has not
    /// grown.
    async fn assert_undisturbed(&self, storage: &Storage) {
        let agent = lookup::agent(storage, self.agent.id).await;
        assert_eq!(agent.as_ref(), Some(&self.agent));
        let conversation = lookup::conversation(storage, self.conversation.id).await;
        assert_eq!(conversation.as_ref(), Some(&self.conversation));
        let running = lookup::context(storage, self.conversation.id)
            .await
            .running_turn;
        assert_eq!(running, Some(self.running.turn_id));
        assert_eq!(log::head(storage, &fixture::tenant()).await, self.head);
        assert_eq!(log::head(storage, &self.other).await, Seq(0));
    }
}

/// Agents: `find`, `list`, `update`, `delete`.
pub async fn agents_of_another_tenant_are_not_found(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours { agent, other, .. } = &neighbours;
    let stamp = fixture::stamp(700);
    let found = storage.agents.find(other, agent.id).await.success();
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
        let listed = storage.agents.list(other, &query).await.success();
        assert!(listed.value.items.is_empty(), "{query:?}");
    }
    let next = fixture::renamed(agent, "Taken over");
    let updated = storage.agents.update(other, &next, &stamp).await;
    assert_eq!(updated.success(), None);
    let deleted = storage.agents.delete(other, agent.id, None, &stamp).await;
    assert_eq!(deleted.success(), Deletion::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Conversations: all reads.
pub async fn conversations_of_another_tenant_are_not_read(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent,
        conversation,
        other,
        ..
    } = &neighbours;
    let conversations = &storage.conversations;
    let found = conversations.find(other, conversation.id).await.success();
    assert_eq!((found.value, found.position), (None, Seq(0)));
    let head = conversations
        .find_context(other, conversation.id)
        .await
        .success();
    assert_eq!(head.value, None);
    for (agent_id, user_id) in [
        (None, None),
        (Some(agent.id), None),
        (None, conversation.user_id.clone()),
    ] {
        let query = ConversationQuery {
            filter: ConversationFilter { agent_id, user_id },
            after: None,
            limit: 10,
        };
        let listed = conversations.list(other, &query).await.success();
        assert!(listed.value.items.is_empty(), "{query:?}");
    }
    let query = MessageQuery {
        order: MessageOrder::Ascending,
        after: None,
        limit: 10,
    };
    let messages = conversations.messages(other, conversation.id, &query).await;
    assert_eq!(messages.success().value, None);
    let query = HistoryQuery {
        before: 10,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(other, conversation.id, &query).await;
    assert!(history.success().is_empty());
}

/// Conversations: all writes.
pub async fn conversations_of_another_tenant_are_not_changed(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent,
        conversation,
        other,
        ..
    } = &neighbours;
    let (conversations, stamp) = (&storage.conversations, fixture::stamp(700));
    let new = fixture::conversation(9, agent.id);
    let inserted = conversations.insert(other, &new, None, &stamp, None).await;
    assert_eq!(inserted.applied(), None, "its agent is another tenant's");
    let next = fixture::retitled(conversation, "Taken over");
    let updated = conversations.update(other, &next, &stamp).await;
    assert_eq!(updated.success(), None);
    let deleted = conversations
        .delete(other, conversation.id, None, &stamp)
        .await;
    assert_eq!(deleted.success(), Deletion::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Turns: `find`, `finish_turn`, `cancel_turn`.
pub async fn turns_of_another_tenant_are_not_found(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours { running, other, .. } = &neighbours;
    let (turns, id) = (&storage.turns, running.turn_id);
    assert_eq!(turns.find(other, id).await.success().value, None);
    let ending = TurnEnding::Completed(fixture::reply(1));
    let mut finish = fixture::finish(running, ending);
    finish.tenant = other.clone();
    let finished = turns.finish_turn(finish).await;
    assert_eq!(finished.success(), FinishOutcome::Refused);
    let stamp = fixture::stamp(700);
    let cancelled = turns.cancel_turn(other, id, None, Some(running.node), &stamp);
    assert_eq!(cancelled.await.success(), CancelOutcome::NotFound);
    neighbours.assert_undisturbed(storage).await;
}

/// Chats: another tenant's agent does not exist, nor does its conversation for an agent of the own
/// tenant.
pub async fn agents_and_conversations_of_another_tenant_cannot_be_used_in_chats(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent,
        conversation,
        other,
        ..
    } = &neighbours;
    let new = ConversationTarget::New(fixture::conversation(9, agent.id));
    for target in [fixture::existing(conversation, 1), new] {
        let mut turn = fixture::completed_turn(5, agent, target);
        turn.begin.tenant = other.clone();
        let begin = turn.begin.clone();
        let recorded = storage.turns.record_completed_turn(turn).await;
        assert_eq!(recorded.success(), RecordTurnOutcome::AgentNotFound);
        let outcome = storage.turns.begin_turn(begin).await;
        assert_eq!(outcome.success(), BeginOutcome::AgentNotFound);
    }
    neighbours.assert_undisturbed(storage).await;
    let own = fixture::agent(2);
    setup::insert_agent_in(storage, other, own.clone()).await;
    let mut turn = fixture::completed_turn(5, &own, fixture::existing(conversation, 1));
    turn.begin.tenant = other.clone();
    let begin = turn.begin.clone();
    let recorded = storage.turns.record_completed_turn(turn).await;
    assert_eq!(recorded.success(), RecordTurnOutcome::ConversationNotFound);
    let outcome = storage.turns.begin_turn(begin).await;
    assert_eq!(outcome.success(), BeginOutcome::ConversationNotFound);
}

/// The log: pages, bounds and changes.
pub async fn events_of_another_tenant_are_not_shown(storage: &Storage) {
    let Neighbours { other, agent, .. } = Neighbours::settled(storage).await;
    let page = storage.events.page(&other, &log::query(Seq(0))).await;
    let page = page.success();
    assert!(page.events.is_empty());
    assert_eq!((page.first, page.head), (Seq(1), Seq(0)));
    let bounds = storage.events.bounds(&other).await.success();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(0)));
    let changes = storage.events.changes(&other, Seq(0), 10).await;
    assert!(changes.success().is_empty());
    // If the own tenant has data with the same id, that data is returned.
    let namesake = fixture::agent_named(1, "Namesake");
    assert_eq!(namesake.id, agent.id);
    setup::insert_agent_in(storage, &other, namesake.clone()).await;
    let page = storage.events.page(&other, &log::query(Seq(0))).await;
    let event = page.success().events.remove(0).event;
    assert_eq!((event.seq, event.tenant_id), (Seq(1), other));
    assert_eq!(event.data, domain::EventData::Agent { agent: namesake });
}

/// Keys and clients: `list`. `find` is how a tenant is determined, so it has no tenant.
pub async fn credentials_of_another_tenant_are_not_listed(storage: &Storage) {
    let other = setup::second_tenant(storage).await;
    for own in [fixture::key(1), fixture::client(1)] {
        let own = setup::credential(storage, own).await;
        let (credentials, kind) = (&storage.credentials, own.kind);
        let listed = credentials.list(kind, &other, None, 10).await.success();
        assert_eq!((listed.items, listed.has_more), (Vec::new(), false));
        let theirs = Credential {
            id: fixture::key_id(if own.id == fixture::key_id(1) { 2 } else { 3 }),
            tenant: other.clone(),
            ..own.clone()
        };
        let theirs = setup::credential(storage, theirs).await;
        for (tenant, credential) in [(&own.tenant, &own), (&other, &theirs)] {
            let listed = credentials.list(kind, tenant, None, 10).await.success();
            let listed: Vec<_> = listed.items.iter().map(|listed| &listed.item).collect();
            assert_eq!(listed, [credential]);
            let found = lookup::credential(storage, credential).await;
            assert_eq!(found.as_ref(), Some(credential));
        }
    }
}

/// Keys and clients: `rotate`, `revoke`.
pub async fn credentials_of_another_tenant_are_not_changed(storage: &Storage) {
    let other = setup::second_tenant(storage).await;
    let version = lookup::access_version(storage).await;
    let signing = fixture::signing_client(2, fixture::key_set(1));
    for (credential, proof) in [
        (fixture::key(1), fixture::new_secret(8, None)),
        (fixture::client(1), fixture::new_secret(8, None)),
        (signing, NewProof::Keys(fixture::key_set(2))),
    ] {
        let credential = setup::credential(storage, credential).await;
        let Credential { kind, id, .. } = &credential;
        let credentials = &storage.credentials;
        let rotated = credentials.rotate(*kind, &other, id, &proof, None).await;
        assert_eq!(rotated.applied(), None);
        let revoked = credentials.revoke(*kind, &other, id, fixture::at(9)).await;
        assert!(!revoked.success());
        let found = lookup::credential(storage, &credential).await;
        assert_eq!(found, Some(credential));
    }
    assert_eq!(lookup::access_version(storage).await, version);
}

/// A key that one tenant has used counts as unused in another.
pub async fn idempotency_keys_belong_to_one_tenant(storage: &Storage) {
    let Neighbours { other, .. } = Neighbours::settled(storage).await;
    let (agent, stamp, entry) = (fixture::agent(1), fixture::stamp(0), fixture::entry("k"));
    let before = storage.claims.find(&other, &entry).await.success();
    assert_eq!(before, None);
    let result = storage.agents.insert(&other, &agent, &stamp, Some(&entry));
    result.await.applied();
    let ours = lookup::record(storage, &entry).await;
    let theirs = storage.claims.find(&other, &entry).await.success();
    assert!(ours.is_some_and(|record| record.turn_id.is_some()));
    assert!(theirs.is_some_and(|record| record.turn_id.is_none()));
}

/// Two tenants can hold resources with the same ids, and delete them independently.
pub async fn the_same_ids_in_two_tenants_are_different_resources(storage: &Storage) {
    let neighbours = Neighbours::settled(storage).await;
    let Neighbours {
        agent,
        conversation,
        running,
        other,
        ..
    } = &neighbours;
    setup::insert_agent_in(storage, other, fixture::agent_named(1, "Namesake")).await;
    let new = fixture::conversation(1, agent.id);
    setup::insert_conversation_in(storage, other, new).await;
    let theirs = BeginTurn {
        tenant: other.clone(),
        ..fixture::begin_turn(1, agent, fixture::existing(conversation, 0))
    };
    setup::start_turn(storage, &theirs).await;
    let ending = TurnEnding::Completed(fixture::reply(1));
    setup::finish_turn(storage, fixture::finish(&theirs, ending)).await;
    let (stamp, agents) = (fixture::stamp(700), &storage.agents);
    let deleted = agents.delete(other, agent.id, None, &stamp).await.success();
    assert!(matches!(deleted, Deletion::Deleted(_)), "{deleted:?}");
    let ours = lookup::agent(storage, agent.id).await;
    assert_eq!(ours.as_ref(), Some(agent));
    let ours = lookup::context(storage, conversation.id).await;
    assert_eq!(
        (ours.message_count, ours.running_turn),
        (1, Some(running.turn_id))
    );
    assert_eq!(
        log::head(storage, &fixture::tenant()).await,
        neighbours.head
    );
    let purged = purging::purge_all(storage, 100, purging::deleted_before(fixture::at(10_000)));
    assert!(purged.await > 0);
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}
