mod log;
mod once;
mod rules;
