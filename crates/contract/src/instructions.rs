//! Turns that follow an instruction of the operator, and have no message of the user.

use domain::{Conversation, Handler, Role, Turn};
use writes::{BeginOutcome, BeginTurn, ConversationTarget, TurnEnding};

use crate::{
    Store, begin_turn, fixture, lookup,
    results::{ResultExt as _, event_count},
    setup,
};

/// A numbered turn with an instruction.
fn instructed(begin: BeginTurn) -> BeginTurn {
    BeginTurn {
        input: String::new(),
        instruction: Some("Ask for the rating 🦊".to_owned()),
        ..begin
    }
}

async fn conversation(storage: &Store, conversation: &Conversation) -> Conversation {
    let found = lookup::conversation(storage, conversation.id).await;
    found.expect("the conversation exists")
}

/// The turn stores no message, and its reply follows the messages before it. It keeps its instruction.
pub async fn an_instruction_is_answered_without_a_message(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let before = conversation(storage, &original).await;
    let begin = instructed(fixture::begin_turn(
        2,
        &agent,
        fixture::existing(&original, 1),
    ));
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(event_count(started.committed), 1);
    assert_eq!(started.messages.reply_seq, 3);
    let running = conversation(storage, &original).await;
    assert_eq!(
        (running.message_count, &running.excerpt),
        (2, &before.excerpt)
    );
    assert_eq!(running.last_message_at, before.last_message_at);
    setup::complete_turn(storage, &begin, 2).await;
    let messages = lookup::messages(storage, original.id).await;
    let shown: Vec<_> = messages.iter().map(|it| (it.seq, it.role)).collect();
    let expected = [(1, Role::User), (2, Role::Agent), (3, Role::Agent)];
    assert_eq!(shown, expected);
    let turn = lookup::turn(storage, begin.turn_id)
        .await
        .expect("the turn exists");
    assert_eq!(turn.instruction, begin.instruction);
    assert_eq!((&*turn.input, turn.has_message()), ("", false));
    let after = conversation(storage, &original).await;
    assert_eq!(after.excerpt.as_deref(), Some("Reply 2"));
}

/// An instruction may begin a conversation, which has no message until the reply.
pub async fn an_instruction_begins_a_conversation(storage: &Store) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let new = fixture::conversation(1, agent.id);
    let target = ConversationTarget::New(new.clone());
    let begin = instructed(fixture::begin_turn(1, &agent, target));
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(event_count(started.committed), 2);
    let running = conversation(storage, &new).await;
    let shown = (
        running.message_count,
        running.excerpt,
        running.last_message_at,
    );
    assert_eq!(shown, (0, None, None));
    setup::complete_turn(storage, &begin, 1).await;
    let messages = lookup::messages(storage, new.id).await;
    assert_eq!((messages.len(), messages[0].seq), (1, 1));
}

/// A queued instruction stores no message when it starts either, and knows its instruction.
pub async fn a_queued_instruction_is_promoted_without_a_message(storage: &Store) {
    let (agent, original) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&original, 0));
    setup::start_turn(storage, &running).await;
    let waits = instructed(fixture::begin_turn(
        2,
        &agent,
        fixture::existing(&original, 1),
    ));
    setup::queue_turn(storage, &waits).await;
    let ending = TurnEnding::Completed(fixture::reply(1));
    let (_, promoted) = setup::finish_turn(storage, fixture::finish(&running, ending)).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.instruction, waits.instruction);
    assert_eq!(promoted.messages.reply_seq, 3);
    setup::complete_turn(storage, &waits, 2).await;
    let messages = lookup::messages(storage, original.id).await;
    let shown: Vec<_> = messages.iter().map(|it| (it.seq, it.role)).collect();
    let expected = [(1, Role::User), (2, Role::Agent), (3, Role::Agent)];
    assert_eq!(shown, expected);
}

/// A repetition of a failed instruction stores no message either, also if a message has taken its place.
pub async fn a_failed_instruction_is_repeated(storage: &Store) {
    let (agent, original) = setup::chat(storage).await;
    let target = fixture::existing(&original, 0);
    let failed = begin_turn::with_key(instructed(fixture::begin_turn(1, &agent, target)));
    setup::start_turn(storage, &failed).await;
    setup::fail_turn(storage, &failed).await;
    let other = fixture::completed_turn(2, &agent, fixture::existing(&original, 1));
    setup::record_turn(storage, other).await;
    let target = fixture::existing(&original, 2);
    let again = begin_turn::with_key(instructed(fixture::begin_turn(3, &agent, target)));
    let started = setup::start_turn(storage, &again).await;
    assert_eq!(started.messages.reply_seq, 3);
    assert_eq!(started.messages.retry_of, Some(failed.turn_id));
    setup::complete_turn(storage, &again, 3).await;
    let messages = lookup::messages(storage, original.id).await;
    let shown: Vec<_> = messages.iter().map(|it| (it.seq, it.turn_id)).collect();
    let other = Some(fixture::turn_id(2));
    let expected = [(1, other), (2, other), (3, Some(again.turn_id))];
    assert_eq!(shown, expected);
}

/// The agent takes no instruction while staff handles the conversation.
pub async fn instructions_are_busy_while_staff_handles_a_conversation(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let found = conversation(storage, &original).await;
    let mut draft = found.draft();
    draft.handled_by = Handler::Staff;
    let next = found.changed_to(draft, fixture::at(50)).expect("a change");
    setup::update_conversation(storage, &next).await;
    let begin = instructed(fixture::begin_turn(
        2,
        &agent,
        fixture::existing(&original, 1),
    ));
    let outcome = storage.turns.begin_turn(begin.clone()).await.success();
    assert_eq!(outcome, BeginOutcome::Busy);
    assert_eq!(
        lookup::turn(storage, begin.turn_id).await,
        Option::<Turn>::None
    );
}
