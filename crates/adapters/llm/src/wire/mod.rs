//! What is sent and what comes back, in the form of `OpenAI`'s chat completions. None of it has
//! `Debug`: it is made of prompts, answers and arguments, which no log may hold.

mod received;
mod sent;
mod surrogates;

pub(crate) use received::{CallPart, Chunk, Content, Part};
pub(crate) use sent::{
    CallMade, Function, FunctionCalled, PromptMessage, Question, Settings, StreamOptions, Tool,
};
pub(crate) use surrogates::without_halves;
