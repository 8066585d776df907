//! `ConversationRepository::history`: the tool calls of earlier turns.

use domain::{
    ActionNeeded, Agent, Conversation, HistoryLimits, HistoryMessage, ModelResponse, Repetition,
    ToolStep, TurnStep,
};
use ports::HistoryQuery;
use writes::{BeginTurn, RecordSteps};

use crate::{
    Store, fixture, lookup,
    results::ResultExt as _,
    setup,
    waiting_turns::{call, far},
};

/// Returns the history before a position, as lines: the position, the role, the text, the ids of the calls and
/// the end of the turn.
pub(crate) async fn shown(
    storage: &Store,
    conversation: &Conversation,
    before: i64,
) -> Vec<String> {
    let limits = HistoryLimits::default();
    shown_within(storage, conversation, before, limits).await
}

pub(crate) async fn shown_within(
    storage: &Store,
    conversation: &Conversation,
    before: i64,
    limits: HistoryLimits,
) -> Vec<String> {
    let query = HistoryQuery { before, limits };
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let history = conversations.history(&tenant, conversation.id, &query);
    history.await.success().iter().map(line).collect()
}

pub(crate) fn no_messages() -> HistoryLimits {
    HistoryLimits {
        max_messages: Some(0),
        max_characters: Some(0),
        tool_results: Some(false),
        ..HistoryLimits::default()
    }
}

fn line(message: &HistoryMessage) -> String {
    let HistoryMessage {
        seq, role, content, ..
    } = message;
    let calls = message.calls.as_ref().map(|calls| {
        let ids = calls.steps.iter().flat_map(|step| &step.calls);
        let ids: Vec<_> = ids.map(|call| call.call_id.as_str()).collect();
        let ending = calls.ending.map(|end| format!(" {end:?}"));
        format!(" [{}]{}", ids.join(", "), ending.unwrap_or_default())
    });
    format!(
        "{seq} {} {content}{}",
        role.as_str(),
        calls.unwrap_or_default()
    )
}

/// Starts a numbered turn that makes one call, with an id that contains the number.
pub(crate) async fn start(storage: &Store, begin: &BeginTurn, number: u32, repetition: Repetition) {
    setup::start_turn(storage, begin).await;
    let call = ToolStep {
        repetition,
        ..fixture::tool_step(&format!("call {number}"))
    };
    let open = TurnStep::Tool(call.clone());
    let ended = TurnStep::Tool(ToolStep {
        end: Some(fixture::tool_end()),
        ..call
    });
    let steps = vec![
        (0, TurnStep::Model(ModelResponse::default())),
        (1, open.clone()),
    ];
    record(storage, begin, steps, Vec::new()).await;
    record(storage, begin, Vec::new(), vec![(1, ended)]).await;
}

async fn record(
    storage: &Store,
    begin: &BeginTurn,
    steps: Vec<(usize, TurnStep)>,
    ended: Vec<(usize, TurnStep)>,
) {
    let record = RecordSteps {
        changed: ended,
        ..fixture::record_steps(begin, steps)
    };
    assert!(storage.writes.write(record).await.success().is_recorded());
}

/// A numbered turn after that many others.
pub(crate) fn begin(
    number: u32,
    agent: &Agent,
    conversation: &Conversation,
    turn_count: i64,
) -> BeginTurn {
    fixture::begin_turn(number, agent, fixture::existing(conversation, turn_count))
}

/// The agent's message of a completed turn has the calls of the turn, unless they are not wanted.
pub async fn history_has_the_calls_of_completed_turns(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in [1, 2] {
        let turn = begin(number, &agent, &conversation, i64::from(number) - 1);
        let repetition = match number {
            1 => Repetition::Harmless,
            _ => Repetition::Acts,
        };
        start(storage, &turn, number, repetition).await;
        setup::complete_turn(storage, &turn, number).await;
    }
    let expected = [
        "1 user Question 1",
        "2 agent Reply 1 [call 1]",
        "3 user Question 2",
        "4 agent Reply 2 [call 2]",
    ];
    assert_eq!(shown(storage, &conversation, 5).await, expected);
    let newest = HistoryLimits {
        max_messages: Some(2),
        ..HistoryLimits::default()
    };
    assert_eq!(
        shown_within(storage, &conversation, 5, newest).await,
        expected[2..]
    );
    let without = HistoryLimits {
        tool_results: Some(false),
        ..HistoryLimits::default()
    };
    let shown = shown_within(storage, &conversation, 5, without).await;
    assert!(shown.iter().all(|line| !line.contains("call")), "{shown:?}");
}

/// A turn that failed, or was cancelled before its first word, stays in the history if a call of it may
/// have acted, whether or not calls are wanted.
pub async fn history_keeps_turns_without_a_reply_that_may_have_acted(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for (number, repetition) in [
        (1, Repetition::Acts),
        (2, Repetition::Harmless),
        (3, Repetition::HarmlessWithId),
    ] {
        let turn = begin(number, &agent, &conversation, i64::from(number) - 1);
        start(storage, &turn, number, repetition).await;
        setup::fail_turn(storage, &turn).await;
    }
    let cancelled = begin(4, &agent, &conversation, 3);
    start(storage, &cancelled, 4, Repetition::Acts).await;
    setup::cancel_turn(storage, &cancelled, None).await;
    for tool_results in [true, false] {
        let limits = HistoryLimits {
            tool_results: Some(tool_results),
            ..HistoryLimits::default()
        };
        assert_eq!(
            shown_within(storage, &conversation, 5, limits).await,
            [
                "1 user Question 1 [call 1] Failed",
                "3 user Question 3 [call 3] Failed",
                "4 user Question 4 [call 4] Cancelled",
            ]
        );
    }
}

/// A call that was approved, and begins then, may have acted, too.
pub async fn history_keeps_failed_turns_with_an_approved_call(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = begin(1, &agent, &conversation, 0);
    setup::start_turn(storage, &turn).await;
    let asked = call("call 1", ActionNeeded::Approval, far());
    let TurnStep::Tool(mut approved) = asked.clone() else {
        unreachable!()
    };
    if let Some(wait) = &mut approved.wait {
        wait.has_begun = true;
    }
    let steps = vec![(0, TurnStep::Model(ModelResponse::default())), (1, asked)];
    record(storage, &turn, steps, Vec::new()).await;
    let begun = vec![(1, TurnStep::Tool(approved))];
    record(storage, &turn, Vec::new(), begun).await;
    setup::fail_turn(storage, &turn).await;
    assert_eq!(
        shown(storage, &conversation, 2).await,
        ["1 user Question 1 [call 1] Failed"]
    );
}

/// A call without an end, of a turn that has ended, is settled.
pub async fn history_has_no_call_without_an_end(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = begin(1, &agent, &conversation, 0);
    setup::start_turn(storage, &turn).await;
    let steps = vec![
        (0, TurnStep::Model(ModelResponse::default())),
        (1, TurnStep::Tool(fixture::tool_step("call 1"))),
    ];
    record(storage, &turn, steps, Vec::new()).await;
    assert_eq!(
        shown(storage, &conversation, 2).await,
        ["1 user Question 1"],
        "the turn is running"
    );
    setup::fail_turn(storage, &turn).await;
    let query = HistoryQuery {
        before: 2,
        limits: HistoryLimits::default(),
    };
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let history = conversations.history(&tenant, conversation.id, &query);
    let history = history.await.success();
    let calls = history[0].calls.as_ref().expect("calls");
    let end = calls.steps[0].calls[0].end.as_ref().expect("an end");
    assert_eq!(end.status, "outcome_unknown");
}

/// A turn that answers a message again learns what the turns before have done, and later turns do, too.
pub async fn history_ends_with_the_acts_for_the_same_message(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = begin(1, &agent, &conversation, 0);
    start(storage, &first, 1, Repetition::Acts).await;
    setup::complete_turn(storage, &first, 1).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let again = |number: u32, turn_count| {
        let turn = begin(number, &agent, &conversation, turn_count);
        fixture::answering_again(turn, &messages[0], 1)
    };
    let second = again(2, 1);
    start(storage, &second, 2, Repetition::Acts).await;
    assert_eq!(shown(storage, &conversation, 1).await, ["1 user  [call 1]"]);
    assert_eq!(
        shown_within(storage, &conversation, 1, no_messages()).await,
        ["1 user  [call 1]"],
        "no limit hides what was done for the same message"
    );
    setup::fail_turn(storage, &second).await;
    let third = again(3, 2);
    start(storage, &third, 3, Repetition::Harmless).await;
    assert_eq!(
        shown(storage, &conversation, 1).await,
        ["1 user  [call 1, call 2]"]
    );
    setup::complete_turn(storage, &third, 3).await;
    assert_eq!(
        shown(storage, &conversation, 4).await,
        [
            "1 user Question 1",
            "3 agent Reply 3 [call 1, call 2, call 3]"
        ]
    );
}

/// A superseded message for which a call may have acted is shown before the one that has replaced it; if
/// the text is the same, the call belongs to that.
pub async fn history_has_the_acts_of_superseded_messages(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = begin(1, &agent, &conversation, 0);
    start(storage, &first, 1, Repetition::Acts).await;
    setup::complete_turn(storage, &first, 1).await;
    let edit = fixture::superseding(begin(2, &agent, &conversation, 1), 1, 0);
    start(storage, &edit, 2, Repetition::Acts).await;
    let withdrawn = "1 user Question 1 [call 1] Withdrawn";
    assert_eq!(shown(storage, &conversation, 3).await, [withdrawn]);
    setup::complete_turn(storage, &edit, 2).await;
    assert_eq!(
        shown(storage, &conversation, 5).await,
        [withdrawn, "3 user Question 2", "4 agent Reply 2 [call 2]"]
    );
    let same = BeginTurn {
        input: edit.input.clone(),
        ..begin(3, &agent, &conversation, 2)
    };
    let same = fixture::superseding(same, 3, 0);
    start(storage, &same, 3, Repetition::Harmless).await;
    assert_eq!(
        shown(storage, &conversation, 5).await,
        [withdrawn, "5 user  [call 2]"]
    );
    setup::complete_turn(storage, &same, 3).await;
    assert_eq!(
        shown(storage, &conversation, 7).await,
        [
            withdrawn,
            "5 user Question 2",
            "6 agent Reply 3 [call 2, call 3]"
        ]
    );
    let newest = HistoryLimits {
        max_messages: Some(1),
        ..HistoryLimits::default()
    };
    assert_eq!(
        shown_within(storage, &conversation, 7, newest).await,
        ["6 agent Reply 3"],
        "a reply without its message has no calls, and what is before is left out"
    );
}

/// A turn with the key `k`, which repeats the failed one with that key.
fn with_key(number: u32, agent: &Agent, conversation: &Conversation, turn_count: i64) -> BeginTurn {
    BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..begin(number, agent, conversation, turn_count)
    }
}

/// A turn that repeats a failed one with its key learns what that has done, whatever came in between, and
/// whatever the limits of the history are.
pub async fn history_ends_with_the_acts_of_repeated_turns(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = with_key(1, &agent, &conversation, 0);
    start(storage, &first, 1, Repetition::Acts).await;
    setup::fail_turn(storage, &first).await;
    let other = begin(2, &agent, &conversation, 1);
    start(storage, &other, 2, Repetition::Acts).await;
    setup::complete_turn(storage, &other, 2).await;
    let second = with_key(3, &agent, &conversation, 2);
    start(storage, &second, 3, Repetition::Acts).await;
    assert_eq!(
        shown(storage, &conversation, 4).await,
        [
            "1 user Question 1",
            "2 user Question 2",
            "3 agent Reply 2 [call 2]",
            "4 user  [call 1]",
        ]
    );
    setup::fail_turn(storage, &second).await;
    let other = begin(4, &agent, &conversation, 3);
    setup::start_turn(storage, &other).await;
    setup::complete_turn(storage, &other, 4).await;
    a_third_turn_without_calls_repeats_both(storage, &agent, &conversation).await;
}

async fn a_third_turn_without_calls_repeats_both(
    storage: &Store,
    agent: &Agent,
    conversation: &Conversation,
) {
    let third = with_key(5, agent, conversation, 4);
    setup::start_turn(storage, &third).await;
    let none = no_messages();
    let repeated = ["7 user  [call 1, call 3]"];
    assert_eq!(
        shown_within(storage, conversation, 7, none.clone()).await,
        repeated
    );
    setup::complete_turn(storage, &third, 5).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let answered = messages.iter().position(|message| message.seq == 7);
    let again = begin(6, agent, conversation, 5);
    let again = fixture::answering_again(again, &messages[answered.expect("a message")], 6);
    setup::start_turn(storage, &again).await;
    assert_eq!(
        shown_within(storage, conversation, 7, none).await,
        repeated,
        "a reply that is generated again, too"
    );
    setup::complete_turn(storage, &again, 6).await;
    assert_eq!(
        shown(storage, conversation, 10).await,
        [
            "1 user Question 1 [call 1] Failed",
            "2 user Question 2",
            "3 agent Reply 2 [call 2]",
            "4 user Question 3 [call 3] Failed",
            "5 user Question 4",
            "6 agent Reply 4",
            "7 user Question 5",
            "9 agent Reply 6",
        ]
    );
}
