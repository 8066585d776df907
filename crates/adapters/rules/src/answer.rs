//! What the engine says: the rule that matches, or what stands in for it.

use crate::{
    pattern::Captures,
    search::{Match, Search},
    small_talk,
    template::{Answer, Template, Values},
};

/// The answer to the request of a finished search. An agent with rules of its own says its
/// `fallbackReply` to everything else; one without rules makes small talk first.
pub(crate) fn answer(search: &Search, found: Option<&Match>) -> Answer {
    let book = &search.book;
    if let Some(found) = found
        && let Some(template) = book.answer(found.place, search.request.turn_number)
    {
        return fill(template, search, &found.captures);
    }
    let fallback = || {
        let template = book.fallback()?;
        Some(fill(template, search, &Captures::new()))
    };
    let small_talk = || {
        let text = small_talk::reply(&search.request.agent, &search.request.message)?;
        Some(Answer::new(&text))
    };
    let said = if book.has_rules() {
        fallback().or_else(small_talk)
    } else {
        small_talk().or_else(fallback)
    };
    said.unwrap_or_else(|| Answer::new(&small_talk::otherwise(&search.request.agent)))
}

fn fill(template: &Template, search: &Search, captures: &Captures) -> Answer {
    let request = &search.request;
    template.fill(&Values {
        agent: &request.agent,
        message: &request.message,
        user_id: request.user_id.as_deref(),
        captures,
    })
}
