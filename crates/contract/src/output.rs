//! Replies by a schema.

use domain::FinishReason;
use serde_json::{Value, json};
use writes::{BeginTurn, Reply, TurnEnding};

use crate::{Store, fixture, forks::fork, lookup, setup};

/// The schema that came with the message of a turn is stored with it. The reply, its turn and copies of it have the
/// output, which can be null; a reply without a schema has none.
pub async fn a_schema_and_the_output_are_stored(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let replies = [
        (
            "{\"a\": [1, \"\\u0000\"]}",
            Some(json!({"a": [1, "\0"]})),
            true,
        ),
        ("null", Some(Value::Null), false),
        ("text", None, false),
    ];
    let schema = json!({"type": ["object", "null"], "description": "An object 🦊"});
    for (number, (text, output, repaired)) in (1..).zip(replies.clone()) {
        let turn_count = i64::from(number) - 1;
        let target = fixture::existing(&conversation, turn_count);
        let begin = BeginTurn {
            response_schema: output
                .is_some()
                .then(|| serde_json::from_value(schema.clone()).expect("a schema")),
            ..fixture::begin_turn(number, &agent, target)
        };
        setup::start_turn(storage, &begin).await;
        let reply = Reply {
            content: text.to_owned(),
            finish_reason: FinishReason::Stop,
            output: output.clone(),
            repaired,
            ..fixture::reply(number)
        };
        let ending = TurnEnding::Completed(reply);
        setup::finish_turn(storage, fixture::finish(&begin, ending)).await;
        let found = storage.turns.find(&begin.tenant, begin.turn_id).await;
        let found = found.expect("the store answers").value.expect("the turn");
        assert_eq!(found.response_schema, begin.response_schema);
        let turn = found.turn;
        assert_eq!((&turn.output, turn.repaired), (&output, repaired));
        let reply = turn.reply.expect("a reply");
        assert_eq!((reply.output, reply.repaired), (output, repaired));
    }
    let messages = lookup::messages(storage, conversation.id).await;
    let (copy, forked) = fork(storage, 2, &conversation, &messages, 3).await;
    forked.expect("the fork is stored");
    let copies = lookup::messages(storage, copy.id).await;
    let outputs = copies
        .iter()
        .filter(|it| it.turn_id.is_some() && it.engine.is_some());
    let outputs: Vec<_> = outputs.map(|it| (it.output.clone(), it.repaired)).collect();
    let expected = replies.map(|(_, output, repaired)| (output, repaired));
    assert_eq!(outputs, expected);
}
