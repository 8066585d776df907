//! Every method reads and changes one tenant's data only; data of other tenants does not exist for
//! it.

use domain::{Agent, AgentReach, Conversation, HistoryLimits, Seq, TenantId};
use ports::{
    AgentFilter, AgentQuery, ConversationFilter, ConversationQuery, FirstMessages, HistoryQuery,
    ListingOrder, LogBounds, MessageQuery, MessageReference, TurnConditions, TurnFilter, TurnQuery,
    TurnScan,
};
use writes::{
    BeginOutcome, BeginTurn, CancelOutcome, ConversationTarget, DeleteOutcome, FinishOutcome,
    RecordTurnOutcome, TurnEnding,
};

use crate::{
    Store, fixture, log, lookup,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// A chat of the fixture's tenant with a running turn and a used key, and a second tenant.
pub(crate) struct Neighbours {
    pub(crate) agent: Agent,
    pub(crate) conversation: Conversation,
    pub(crate) running: BeginTurn,
    pub(crate) other: TenantId,
    pub(crate) head: Seq,
}

impl Neighbours {
    pub(crate) async fn create(storage: &Store) -> Self {
        let other = setup::second_tenant(storage).await;
        setup::node(storage, 1).await;
        let agent = setup::agent(storage, 1).await;
        let conversation = fixture::named(fixture::conversation(1, agent.id), "support");
        let conversation = setup::insert_conversation(storage, conversation).await;
        let running = BeginTurn {
            idempotency: Some(fixture::entry("k")),
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
    pub(crate) async fn assert_unchanged(&self, storage: &Store) {
        let agent = lookup::agent(storage, self.agent.id).await;
        assert_eq!(agent.as_ref(), Some(&self.agent));
        let conversation = lookup::conversation(storage, self.conversation.id).await;
        assert_eq!(conversation.as_ref(), Some(&self.conversation));
        let running = lookup::state(storage, self.conversation.id)
            .await
            .running_turn;
        assert_eq!(running, Some(self.running.turn_id));
        assert_eq!(log::head(storage, &fixture::tenant()).await, self.head);
        assert_eq!(log::head(storage, &self.other).await, Seq(0));
    }
}

/// Agents: `find`, `list`, `update`, `delete`.
pub async fn agents_of_another_tenant_are_not_found(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
    let Neighbours { agent, other, .. } = &neighbours;
    let stamp = fixture::stamp(700);
    let found = storage.agents.find(other, agent.id).await.success();
    assert_eq!((found.value, found.position), (None, Seq(0)));
    for filter in [
        AgentFilter::All,
        AgentFilter::NamePrefix(String::new()),
        AgentFilter::Capability("time".to_owned()),
        AgentFilter::Ids(vec![agent.id]),
    ] {
        let query = AgentQuery {
            filter,
            reach: AgentReach::ALL,
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
    assert_eq!(deleted.success(), DeleteOutcome::NotFound);
    neighbours.assert_unchanged(storage).await;
}

/// Conversations: all reads.
pub async fn conversations_of_another_tenant_are_not_read(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
    let Neighbours {
        agent,
        conversation,
        running,
        other,
        ..
    } = &neighbours;
    let conversations = &storage.conversations;
    let found = conversations.find(other, conversation.id).await.success();
    assert_eq!((found.value, found.position), (None, Seq(0)));
    let head = conversations
        .find_state(other, conversation.id)
        .await
        .success();
    assert_eq!(head.value, None);
    for (agent_id, user_id) in [
        (None, None),
        (Some(agent.id), None),
        (None, conversation.user_id.clone()),
    ] {
        let query = ConversationQuery {
            filter: ConversationFilter {
                agents: AgentReach::ALL.narrowed_to(agent_id),
                user_id,
                handling: None,
            },
            after: None,
            limit: 10,
        };
        let listed = conversations.list(other, &query).await.success();
        assert!(listed.value.items.is_empty(), "{query:?}");
    }
    let query = MessageQuery {
        order: ListingOrder::Ascending,
        after: None,
        limit: 10,
        with_superseded: false,
    };
    let messages = conversations.messages(other, conversation.id, &query).await;
    assert_eq!(messages.success().value, None);
    let running_message = MessageReference::Id(running.message_id);
    let message = conversations.find_message(other, conversation.id, &running_message);
    assert_eq!(message.await.success(), None);
    let name = fixture::name_of(conversation);
    let named = conversations.find_by_name(other, &name).await;
    assert_eq!(named.success(), None);
    let query = HistoryQuery {
        before: 10,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(other, conversation.id, &query).await;
    assert!(history.success().is_empty());
}

/// Conversations: all writes.
pub async fn conversations_of_another_tenant_are_not_changed(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
    let Neighbours {
        agent,
        conversation,
        other,
        ..
    } = &neighbours;
    let (conversations, stamp) = (&storage.conversations, fixture::stamp(700));
    let new = fixture::conversation(9, agent.id);
    let inserted = conversations
        .insert(other, &new, &FirstMessages::None, &stamp, None)
        .await;
    assert_eq!(inserted.applied(), None, "its agent is another tenant's");
    let next = fixture::retitled(conversation, "Taken over");
    let updated = conversations.update(other, &next, &stamp).await;
    assert_eq!(updated.success(), None);
    let deleted = conversations
        .delete(other, conversation.id, None, &stamp)
        .await;
    assert_eq!(deleted.success(), DeleteOutcome::NotFound);
    neighbours.assert_unchanged(storage).await;
}

/// Turns: `find`, `finish_turn`, `cancel_turn`.
pub async fn turns_of_another_tenant_are_not_found(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
    let Neighbours { running, other, .. } = &neighbours;
    let (turns, id) = (&storage.turns, running.turn_id);
    assert_eq!(turns.find(other, id).await.success().value, None);
    let current = turns.find_current(other, running.target.id()).await;
    assert_eq!(current.success(), None);
    let query = TurnQuery {
        filter: TurnFilter::All,
        order: ListingOrder::Ascending,
        after: None,
        limit: 10,
    };
    let listed = turns.list(other, running.target.id(), &query).await;
    assert_eq!(listed.success().value, None);
    let scan = TurnScan {
        conditions: TurnConditions::default(),
        before: None,
        limit: 10,
    };
    let scanned = turns.scan(other, &scan).await;
    assert_eq!(scanned.success().value.items, []);
    let ending = TurnEnding::Completed(fixture::reply(1));
    let mut finish = fixture::finish(running, ending);
    finish.tenant = other.clone();
    let finished = turns.finish_turn(finish).await;
    assert_eq!(finished.success(), FinishOutcome::NotOwned);
    let stamp = fixture::stamp(700);
    let cancelled = turns.cancel_turn(other, id, None, Some(running.node), &stamp);
    assert_eq!(cancelled.await.success(), CancelOutcome::NotFound);
    neighbours.assert_unchanged(storage).await;
}

/// Chats: another tenant's agent does not exist, nor does its conversation for an agent of the own
/// tenant.
pub async fn agents_and_conversations_of_another_tenant_cannot_be_used_in_chats(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
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
    neighbours.assert_unchanged(storage).await;
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
pub async fn events_of_another_tenant_are_not_shown(storage: &Store) {
    let Neighbours { other, agent, .. } = Neighbours::create(storage).await;
    let page = storage.event_page(&other, &log::query(Seq(0))).await;
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
    let page = storage.event_page(&other, &log::query(Seq(0))).await;
    let event = page.success().events.remove(0).event;
    assert_eq!((event.seq, event.tenant_id), (Seq(1), other));
    assert_eq!(event.data, domain::EventData::Agent { agent: namesake });
}
