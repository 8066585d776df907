mod forms;
mod keys;
mod signatures;
