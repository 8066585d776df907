//! `ConversationRepository::history`: the tool calls of earlier turns, in forks.

use domain::{Agent, Conversation, Repetition};
use writes::BeginTurn;

use crate::{
    Store, fixture, forks, lookup,
    past_calls::{begin, no_messages, shown, shown_within, start},
    results::ResultExt as _,
    setup,
    waiting_turns::{far, waiting},
};

/// A fork has the calls of the turns whose messages are copied, and those of turns that they repeat.
pub async fn history_of_a_fork_has_the_calls_of_the_original(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in [1, 2] {
        let turn = begin(number, &agent, &conversation, i64::from(number) - 1);
        start(storage, &turn, number, Repetition::Acts).await;
        setup::complete_turn(storage, &turn, number).await;
    }
    let messages = lookup::messages(storage, conversation.id).await;
    let again = fixture::answering_again(begin(3, &agent, &conversation, 2), &messages[2], 3);
    setup::start_turn(storage, &again).await;
    setup::complete_turn(storage, &again, 3).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let (all, committed) = forks::fork(storage, 2, &conversation, &messages, 3).await;
    committed.success();
    let expected = [
        "1 user Question 1",
        "2 agent Reply 1 [call 1]",
        "3 user Question 2",
        "4 agent Reply 3 [call 2]",
    ];
    assert_eq!(shown(storage, &all, 5).await, expected);
    let (asked, committed) = forks::fork(storage, 3, &conversation, &messages[..3], 3).await;
    committed.success();
    let left_out = "3 user Question 2 [call 2] LeftOut";
    assert_eq!(
        shown(storage, &asked, 4).await,
        [expected[0], expected[1], left_out]
    );
    let (before, committed) = forks::fork(storage, 4, &conversation, &messages[..2], 3).await;
    committed.success();
    assert_eq!(shown(storage, &before, 3).await, expected[..2]);
    // Later turns of the original are not part of its forks.
    let again = fixture::answering_again(begin(4, &agent, &conversation, 3), &messages[2], 3);
    start(storage, &again, 4, Repetition::Acts).await;
    setup::complete_turn(storage, &again, 4).await;
    assert_eq!(shown(storage, &all, 5).await, expected);
}

/// A conversation with two turns that may have acted.
async fn acted_twice(storage: &Store) -> (Agent, Conversation) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in [1, 2] {
        let turn = begin(number, &agent, &conversation, i64::from(number) - 1);
        start(storage, &turn, number, Repetition::Acts).await;
        setup::complete_turn(storage, &turn, number).await;
    }
    (agent, conversation)
}

/// In a fork, a copied message that is answered again keeps what was done for it, also in a fork of the fork.
pub async fn history_of_a_fork_has_the_acts_of_messages_answered_again(storage: &Store) {
    let (agent, conversation) = acted_twice(storage).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let (asked, committed) = forks::fork(storage, 2, &conversation, &messages[..1], 2).await;
    committed.success();
    let copied = lookup::messages(storage, asked.id).await;
    let again = fixture::answering_again(begin(3, &agent, &asked, 0), &copied[0], 1);
    setup::start_turn(storage, &again).await;
    assert_eq!(shown(storage, &asked, 1).await, ["1 user  [call 1]"]);
    setup::complete_turn(storage, &again, 3).await;
    let answered = ["1 user Question 1", "2 agent Reply 3 [call 1]"];
    assert_eq!(shown(storage, &asked, 3).await, answered);

    // A fork of the fork.
    let copied = lookup::messages(storage, asked.id).await;
    let (second, committed) = forks::fork(storage, 3, &asked, &copied, 1).await;
    committed.success();
    let edit = fixture::superseding(begin(4, &agent, &second, 0), 1, 0);
    setup::start_turn(storage, &edit).await;
    assert_eq!(
        shown(storage, &second, 3).await,
        ["1 user Question 1 [call 1] Withdrawn"]
    );
}

/// The same for a copied message that is superseded.
pub async fn history_of_a_fork_has_the_acts_of_superseded_messages(storage: &Store) {
    let (agent, conversation) = acted_twice(storage).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let (all, committed) = forks::fork(storage, 4, &conversation, &messages, 2).await;
    committed.success();
    let edit = fixture::superseding(begin(5, &agent, &all, 0), 3, 2);
    let edit = BeginTurn {
        input: "Question 2".to_owned(),
        ..edit
    };
    setup::start_turn(storage, &edit).await;
    assert_eq!(
        shown_within(storage, &all, 5, no_messages()).await,
        ["5 user  [call 2]"],
        "the text is the same"
    );
    setup::complete_turn(storage, &edit, 5).await;
    assert_eq!(
        shown(storage, &all, 7).await,
        [
            "1 user Question 1",
            "2 agent Reply 1 [call 1]",
            "5 user Question 2",
            "6 agent Reply 5 [call 2]",
        ]
    );
    // The other message, too, after which everything is superseded.
    let copied = lookup::messages(storage, all.id).await;
    let again = fixture::answering_again(begin(6, &agent, &all, 1), &copied[0], 1);
    setup::start_turn(storage, &again).await;
    let shown = shown(storage, &all, 1).await;
    assert_eq!(shown.last().map(String::as_str), Some("1 user  [call 1]"));
    assert!(
        shown.iter().any(|line| line.contains("[call 2]")),
        "{shown:?}"
    );
}

/// A fork of a conversation whose turn waits has the text so far, and nothing in it waits.
pub async fn a_fork_does_not_wait(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let original = lookup::conversation(storage, begin.target.id()).await;
    let original = original.expect("the conversation is kept");
    let messages = lookup::messages(storage, original.id).await;
    let (fork, committed) = forks::fork(storage, 2, &original, &messages, 1).await;
    committed.success();
    let copied = lookup::messages(storage, fork.id).await;
    let [question, reply] = &copied[..] else {
        panic!("{copied:?}")
    };
    assert_eq!((question.turn_status, reply.turn_status), (None, None));
    assert_eq!(reply.content, "May I? ");
    let statuses: Vec<_> = reply.tool_calls.iter().map(|it| &it.status[..]).collect();
    assert_eq!(statuses, ["dismissed", "dismissed"]);
    let needs: Vec<_> = reply.tool_calls.iter().filter_map(|it| it.needs).collect();
    assert_eq!(needs, []);
    let context = lookup::state(storage, fork.id).await;
    assert_eq!(context.running_turn, None);
    assert_eq!(lookup::messages(storage, original.id).await, messages);
}
