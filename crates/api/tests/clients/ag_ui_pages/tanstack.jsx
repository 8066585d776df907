import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const { base, headers } = window.SERVICE;
const threadId = 'tanstack';
const connection = fetchServerSentEvents(`${base}/run`, { headers });

function Part({ part }) {
  if (part.type === 'text') return <p>{part.content}</p>;
  if (part.type !== 'tool-call') return null;
  return (
    <code style={{ display: 'block' }}>
      {part.name}({part.arguments}) → {String(part.output)} [{part.state}]
    </code>
  );
}

function Chat() {
  const chat = useChat({ connection, threadId, persistence: true });
  const [text, setText] = useState('');
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage(text);
    setText('');
  };
  const stop = () => {
    chat.stop();
    fetch(`${base}/stop`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ threadId }),
    });
  };
  return (
    <main style={{ font: '15px sans-serif', maxWidth: 760, margin: '1em auto' }}>
      {chat.messages.map((message) => (
        <div key={message.id} className={message.role} style={{ background: '#eee', margin: 8, padding: 8 }}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </div>
      ))}
      <p id="status">{chat.error?.message ?? chat.status}</p>
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} />
        <button type="button" id="stop" onClick={stop}>
          Stop
        </button>
        <button type="button" id="again" onClick={() => chat.reload()}>
          Regenerate
        </button>
      </form>
    </main>
  );
}

createRoot(document.getElementById('root')).render(<Chat />);
