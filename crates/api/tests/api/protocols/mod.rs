//! The protocols of other products' clients.

mod openai;
