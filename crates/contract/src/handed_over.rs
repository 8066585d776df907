//! Conversations that staff handles.

use std::time::Duration;

use domain::{
    ActionNeeded, AgentReach, Conversation, EventType, FinishReason, Handler, Listed, Repetition,
    ToolCall, ToolEnd, ToolStep, TurnStatus, TurnStep, handover,
};
use ports::{ConversationFilter, ConversationPosition, ConversationQuery, Handling};
use writes::{
    BeginOutcome, Committed, RecordSteps, RecordStepsOutcome, RecordTurnOutcome, SuspendOutcome,
    TurnEnding, UpdateConversation,
};

use crate::{
    Store, fixture, log, lookup, past_calls,
    results::ResultExt as _,
    setup, staff_messages,
    waiting_turns::{call, far, record, suspend, wait},
};

/// Hands a conversation over to staff, or back to its agent, at a time.
async fn hand_over(
    storage: &Store,
    conversation: &Conversation,
    to: Handler,
    time: i64,
) -> Conversation {
    let now = lookup::conversation(storage, conversation.id).await;
    let now = now.expect("the conversation exists");
    let mut draft = now.draft();
    draft.handled_by = to;
    let stamp = fixture::stamp(time);
    let next = now.changed_to(draft, stamp.time).expect("a change");
    let update = UpdateConversation {
        tenant: fixture::tenant(),
        conversation: next,
        stamp,
    };
    let updated = storage.writes.write(update).await.success();
    updated.expect("the conversation exists").1
}

/// The begin of a call of the tool, or its end with this status.
fn handing_over(number: usize, status: Option<&str>) -> (usize, TurnStep) {
    let end = status.map(|status| ToolEnd::new(status, String::new(), Duration::ZERO));
    let call = ToolStep {
        name: handover::TOOL.to_owned(),
        arguments: r#"{"reason": "A refund 🦊"}"#.to_owned(),
        end,
        ..fixture::tool_step(&format!("call-{number}"))
    };
    (number, TurnStep::Tool(call))
}

/// The end of a call hands the conversation over in the same transaction, once.
pub async fn a_call_of_the_agent_hands_its_conversation_over(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let begin = fixture::begin_turn(2, &agent, fixture::existing(&original, 1));
    setup::start_turn(storage, &begin).await;
    let head = log::head(storage, &begin.tenant).await;
    let end = |number, status, time| RecordSteps {
        changed: vec![handing_over(number, Some(status))],
        stamp: fixture::stamp(time),
        ..fixture::record_steps(&begin, Vec::new())
    };
    let calls = [0, 1].map(|number| handing_over(number, None));
    let recorded = fixture::record_steps(&begin, calls.to_vec());
    let foreign = RecordSteps {
        node: fixture::node_id(2),
        ..end(1, ToolCall::OK, 500)
    };
    for (record, is_written) in [
        (recorded, true),
        (foreign, false),
        (end(0, ToolCall::FAILED, 600), true),
    ] {
        let written = storage.writes.write(record).await.success();
        assert_eq!(written.is_recorded(), is_written);
        let found = lookup::conversation(storage, original.id).await;
        assert_eq!(found.expect("it exists").handled_by, Handler::Agent);
    }
    for time in [700, 800] {
        let ended = storage.writes.write(end(1, ToolCall::OK, time)).await;
        let committed = (time == 700).then(|| Committed::at(head.plus(1)));
        assert_eq!(ended.success(), RecordStepsOutcome::Recorded(committed));
        let found = conversation(storage, &original).await;
        let handover = found.handover.as_ref().expect("a hand-over");
        assert_eq!(handover.reason.as_deref(), Some("A refund 🦊"));
        assert_eq!(handover.at, fixture::at(700));
        assert_eq!((found.handled_by, found.version), (Handler::Staff, 2));
        assert_eq!(found.waiting_since, Some(handover.at));
        assert_eq!(found.updated_at, handover.at);
        let after = log::head(storage, &begin.tenant).await;
        assert_eq!(after, head.plus(1));
    }
    let last = log::events(storage).await.pop().expect("an event");
    assert_eq!(last.kind, EventType::ConversationUpdated);
    assert_eq!(last.time, fixture::at(700));
    let given_back = hand_over(storage, &original, Handler::Agent, 900).await;
    assert_eq!(given_back.handover, None);
    let found = lookup::conversation(storage, original.id).await;
    assert_eq!(found, Some(given_back));
}

async fn conversation(storage: &Store, conversation: &Conversation) -> Conversation {
    let found = lookup::conversation(storage, conversation.id).await;
    found.expect("the conversation exists")
}

async fn waiting_since(storage: &Store, of: &Conversation) -> Option<domain::Timestamp> {
    conversation(storage, of).await.waiting_since
}

/// A conversation waits from the hand-over on, and from the next message of its user, until staff writes or
/// hands it back.
pub async fn a_conversation_waits_for_staff(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let handed = hand_over(storage, &original, Handler::Staff, 100).await;
    assert_eq!((handed.handled_by, handed.version), (Handler::Staff, 2));
    assert_eq!(handed.waiting_since, Some(fixture::at(100)));
    let found = lookup::conversation(storage, original.id).await;
    assert_eq!(found, Some(handed));
    staff_messages::write(storage, &original, 1).await;
    assert_eq!(waiting_since(storage, &original).await, None);
    let begin = fixture::begin_turn(3_000, &agent, fixture::existing(&original, 1));
    setup::start_turn(storage, &begin).await;
    let since = Some(begin.stamp.time);
    assert_eq!(waiting_since(storage, &original).await, since);
    let handed_back = hand_over(storage, &original, Handler::Agent, 4_000).await;
    assert_eq!(
        (handed_back.handled_by, handed_back.waiting_since),
        (Handler::Agent, None)
    );
}

/// A turn that begins while staff handles its conversation is for staff, and completes without a reply.
pub async fn turns_complete_without_a_reply_while_staff_handles_them(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    hand_over(storage, &original, Handler::Staff, 100).await;
    let target = || fixture::existing(&original, 1);
    let at_once = fixture::completed_turn(10, &agent, target());
    let recorded = storage.turns.record_completed_turn(at_once).await.success();
    assert_eq!(recorded, RecordTurnOutcome::Busy);
    let begin = fixture::begin_turn(10, &agent, target());
    assert!(
        setup::start_turn(storage, &begin)
            .await
            .messages
            .are_for_staff
    );
    let queued = fixture::begin_turn(11, &agent, target());
    setup::queue_turn(storage, &queued).await;
    let ending = TurnEnding::HandedOver {
        tool_calls: Vec::new(),
    };
    let finish = fixture::finish(&begin, ending);
    let (committed, promoted) = setup::finish_turn(storage, finish.clone()).await;
    let promoted = promoted.expect("the next turn starts");
    assert!(promoted.messages.are_for_staff);
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnCompleted, EventType::TurnStarted]);
    let turn = lookup::turn(storage, begin.turn_id).await.expect("a turn");
    assert_eq!((turn.status, turn.reply), (TurnStatus::Completed, None));
    assert_eq!(turn.finish_reason, Some(FinishReason::HandedOver));
    let (again, _) = setup::finish_turn(storage, finish).await;
    assert!(again.first > again.last, "it ended twice");
    assert_eq!(
        lookup::message_seqs(storage, original.id).await,
        [1, 2, 3, 4]
    );
}

/// A hand-over leaves a running turn alone, and so does the hand-over back.
pub async fn a_running_turn_replies_after_a_hand_over(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 1));
    let started = setup::start_turn(storage, &begin).await;
    assert!(!started.messages.are_for_staff);
    hand_over(storage, &original, Handler::Staff, 100).await;
    setup::complete_turn(storage, &begin, 10).await;
    assert_eq!(
        lookup::message_seqs(storage, original.id).await,
        [1, 2, 3, 4]
    );
}

/// While staff handles a conversation, its messages are not superseded.
pub async fn edits_are_busy_while_staff_handles_a_conversation(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    hand_over(storage, &original, Handler::Staff, 100).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 1));
    let edit = fixture::superseding(begin, 1, 0);
    let outcome = storage.turns.begin_turn(edit).await.success();
    assert_eq!(outcome, BeginOutcome::Busy);
}

/// A turn that waits for its user is dismissed by the hand-over.
pub async fn a_hand_over_dismisses_the_turn_that_waits_for_the_user(storage: &Store) {
    let (agent, original) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&original, 0));
    setup::start_turn(storage, &begin).await;
    let calls = [call("1", ActionNeeded::Approval, far())];
    record(storage, &begin, &calls).await;
    wait(storage, &begin, &calls).await;
    let handed = hand_over(storage, &original, Handler::Staff, 1_000).await;
    let turn = lookup::turn(storage, begin.turn_id).await.expect("a turn");
    assert_eq!(turn.status, TurnStatus::Completed);
    assert_eq!(turn.finish_reason, Some(FinishReason::Dismissed));
    let found = lookup::conversation(storage, original.id).await;
    let found = found.expect("the conversation exists");
    assert_eq!(found.waiting_since, handed.waiting_since);
    assert_eq!((found.version, found.message_count), (handed.version, 2));
    let types = log::types(storage).await;
    let last = [EventType::TurnCompleted, EventType::ConversationUpdated];
    assert!(types.ends_with(&last), "{types:?}");
}

/// A turn that runs at the hand-over does not begin to wait for its user.
pub async fn a_turn_does_not_begin_to_wait_after_a_hand_over(storage: &Store) {
    let (agent, original) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&original, 0));
    setup::start_turn(storage, &begin).await;
    let calls = [call("1", ActionNeeded::Approval, far())];
    record(storage, &begin, &calls).await;
    hand_over(storage, &original, Handler::Staff, 100).await;
    let suspended = storage
        .writes
        .write(suspend(&begin, &calls))
        .await
        .success();
    let is_dismissed = matches!(suspended, SuspendOutcome::Dismissed { .. });
    assert!(is_dismissed, "{suspended:?}");
    let turn = lookup::turn(storage, begin.turn_id).await.expect("a turn");
    assert_eq!(turn.finish_reason, Some(FinishReason::Dismissed));
}

/// A change that was read before a message of the user, and is stored after it, leaves the conversation
/// waiting.
pub async fn a_late_change_of_a_title_leaves_a_conversation_waiting(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    hand_over(storage, &original, Handler::Staff, 100).await;
    staff_messages::write(storage, &original, 1).await;
    let read = lookup::conversation(storage, original.id).await;
    let read = read.expect("the conversation exists");
    let begin = fixture::begin_turn(3_000, &agent, fixture::existing(&original, 1));
    setup::start_turn(storage, &begin).await;
    let late = fixture::retitled(&read, "Late");
    let updated = setup::update_conversation(storage, &late).await;
    let since = Some(begin.stamp.time);
    assert_eq!(
        (
            updated.waiting_since,
            waiting_since(storage, &original).await
        ),
        (since, since)
    );
}

/// The calls of a turn without a reply, since staff handles the conversation, are kept like those of one that
/// has failed.
pub async fn history_keeps_turns_for_staff_that_may_have_acted(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = past_calls::begin(1, &agent, &conversation, 0);
    past_calls::start(storage, &turn, 1, Repetition::Acts).await;
    let ending = TurnEnding::HandedOver {
        tool_calls: Vec::new(),
    };
    setup::finish_turn(storage, fixture::finish(&turn, ending)).await;
    assert_eq!(
        past_calls::shown(storage, &conversation, 2).await,
        ["1 user Question 1 [call 1] LeftOut"]
    );
}

async fn listed(
    storage: &Store,
    handling: Option<Handling>,
    after: Option<&Listed<Conversation>>,
) -> Vec<Listed<Conversation>> {
    let by_waiting = matches!(handling, Some(Handling::Waiting(_)));
    let key = |last: &Listed<Conversation>| match last.item.waiting_since {
        Some(since) if by_waiting => since.milliseconds(),
        _ => last.sort_seq.0,
    };
    let query = ConversationQuery {
        filter: ConversationFilter {
            agents: AgentReach::ALL,
            user_id: None,
            handling,
        },
        after: after.map(|last| ConversationPosition {
            key: key(last),
            id: last.item.id,
        }),
        limit: 2,
    };
    let tenant = fixture::tenant();
    let page = storage.conversations.list(&tenant, &query).await;
    page.success().value.items
}

/// Conversations are filtered by who handles them. Those that wait are listed by the time since when.
pub async fn conversations_are_filtered_by_who_handles_them(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut all = Vec::new();
    for number in 1..=5 {
        all.push(setup::conversation(storage, number, &agent).await);
    }
    for (index, time) in [(1, 300), (2, 100), (3, 200)] {
        hand_over(storage, &all[index], Handler::Staff, time).await;
    }
    let mut taken = hand_over(storage, &all[4], Handler::Staff, 400).await;
    taken.assignee = Some("grace".to_owned());
    taken.version += 1;
    setup::update_conversation(storage, &taken).await;
    staff_messages::write(storage, &all[3], 1).await;
    let ids = |page: Vec<Listed<Conversation>>| -> Vec<_> {
        page.into_iter().map(|found| found.item.id).collect()
    };
    let with = |handling| listed(storage, Some(handling), None);
    assert_eq!(ids(with(Handling::Agent).await), [all[0].id]);
    let of_grace = Some("grace".to_owned());
    assert_eq!(
        ids(with(Handling::Staff(of_grace.clone())).await),
        [all[4].id]
    );
    assert_eq!(ids(with(Handling::Waiting(of_grace)).await), [all[4].id]);
    let first = with(Handling::Staff(None)).await;
    let second = listed(storage, Some(Handling::Staff(None)), first.last()).await;
    let staff: Vec<_> = ids(first).into_iter().chain(ids(second)).collect();
    assert_eq!(staff, [all[3].id, all[4].id, all[2].id, all[1].id]);
    let first = with(Handling::Waiting(None)).await;
    let second = listed(storage, Some(Handling::Waiting(None)), first.last()).await;
    let waiting: Vec<_> = ids(first).into_iter().chain(ids(second)).collect();
    assert_eq!(waiting, [all[2].id, all[1].id, all[4].id]);
}
