//! The choice of the reply: a matching rule, the fallback, or small talk.

use domain::{RuleCall, RuleReplySource};
use ports::RequestedCall;

use crate::{
    call,
    pattern::Captures,
    search::{Match, Search},
    small_talk,
    template::{FilledReply, Values},
};

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    Reply(FilledReply),
    /// The call of the matching rule, which replies once it has the result.
    Call(RequestedCall),
}

/// Returns the answer for a finished search.
pub(crate) fn answer(search: &Search, found: Option<&Match>) -> Answer {
    let request = &search.request;
    let call = found.and_then(|found| find_call(search, found));
    // The rules may have changed since the call was made whose outcome the turn reports.
    if let Some(result) = call::result_of_other_rule(call.as_ref(), request) {
        return Answer::Reply(FilledReply::new(&result));
    }
    let result = match call {
        None => String::new(),
        Some(call) => match call::result_of(&call, request) {
            None => return Answer::Call(call::requested(call, request)),
            Some(result) => result,
        },
    };
    Answer::Reply(choose_reply(search, found, &result).1)
}

/// Returns the tool call of the matching rule, if it has one.
pub(crate) fn find_call(search: &Search, found: &Match) -> Option<RuleCall> {
    let call = search.rules.call(found.index)?;
    Some(call.fill(&values(search, &found.captures, "")))
}

/// Returns the reply for a finished search, and its source. If no rule matches, an agent with rules
/// uses its `fallbackReply` first; one without rules uses small talk first. `result` is that of the
/// call of the matching rule.
pub(crate) fn choose_reply(
    search: &Search,
    found: Option<&Match>,
    result: &str,
) -> (RuleReplySource, FilledReply) {
    let rules = &search.rules;
    if let Some(found) = found
        && let Some(template) = rules.reply(found.index, search.request.turn_number)
    {
        let reply = template.fill(&values(search, &found.captures, result));
        return (RuleReplySource::Rule, reply);
    }
    let fallback = || {
        let template = rules.fallback()?;
        let reply = template.fill(&values(search, &Captures::new(), ""));
        Some((RuleReplySource::FallbackReply, reply))
    };
    let small_talk = || {
        let text = small_talk::reply(&search.request.agent, &search.request.message)?;
        Some((RuleReplySource::SmallTalk, FilledReply::new(&text)))
    };
    let reply = if rules.has_rules() {
        fallback().or_else(small_talk)
    } else {
        small_talk().or_else(fallback)
    };
    reply.unwrap_or_else(|| {
        let text = small_talk::default_reply(&search.request.agent);
        (RuleReplySource::Default, FilledReply::new(&text))
    })
}

fn values<'a>(search: &'a Search, captures: &'a Captures, result: &'a str) -> Values<'a> {
    let request = &search.request;
    Values {
        agent: &request.agent,
        message: &request.message,
        common: request.placeholder_values(),
        captures,
        result,
    }
}
