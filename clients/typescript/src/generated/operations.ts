// Generated from openapi.json by `npm run generate`.
/** The method and the path of each operation, by group and name. */
export interface Operations {
  agents: {
    list: "get /api/agents",
    create: "post /api/agents",
    get: "get /api/agents/{id}",
    patch: "patch /api/agents/{id}",
    delete: "delete /api/agents/{id}",
    getConfig: "get /api/agents/{id}/config",
    putConfig: "put /api/agents/{id}/config"
  },
  capabilities: {
    list: "get /api/capabilities"
  },
  conversations: {
    list: "get /api/conversations",
    create: "post /api/conversations",
    get: "get /api/conversations/{id}",
    patch: "patch /api/conversations/{id}",
    delete: "delete /api/conversations/{id}",
    listMessages: "get /api/conversations/{id}/messages",
    writeMessage: "post /api/conversations/{id}/messages",
    patchMessage: "patch /api/conversations/{id}/messages/{messageId}",
    deleteMessage: "delete /api/conversations/{id}/messages/{messageId}",
    rateMessage: "put /api/conversations/{id}/messages/{messageId}/feedback",
    deleteFeedback: "delete /api/conversations/{id}/messages/{messageId}/feedback",
    listNotes: "get /api/conversations/{id}/notes",
    writeNote: "post /api/conversations/{id}/notes",
    deleteNote: "delete /api/conversations/{id}/notes/{noteId}",
    listTurns: "get /api/conversations/{id}/turns"
  },
  engines: {
    list: "get /api/engines"
  },
  events: {
    list: "get /api/events"
  },
  export: {
    exportConversations: "get /api/export"
  },
  feedback: {
    list: "get /api/feedback"
  },
  keys: {
    list: "get /api/keys",
    create: "post /api/keys",
    get: "get /api/keys/{id}",
    patch: "patch /api/keys/{id}",
    revoke: "delete /api/keys/{id}",
    rotate: "post /api/keys/{id}/rotate"
  },
  limits: {
    get: "get /api/limits"
  },
  nodes: {
    list: "get /api/nodes"
  },
  oauthClients: {
    list: "get /api/oauth-clients",
    create: "post /api/oauth-clients",
    get: "get /api/oauth-clients/{id}",
    patch: "patch /api/oauth-clients/{id}",
    revoke: "delete /api/oauth-clients/{id}",
    rotate: "post /api/oauth-clients/{id}/rotate"
  },
  ping: {
    get: "get /api/ping"
  },
  principal: {
    get: "get /api/principal"
  },
  profiles: {
    list: "get /api/profiles",
    get: "get /api/profiles/{id}"
  },
  regions: {
    list: "get /api/regions"
  },
  rules: {
    test: "post /api/rules/test"
  },
  turns: {
    list: "get /api/turns",
    get: "get /api/turns/{id}",
    answer: "post /api/turns/{id}/actions",
    cancel: "post /api/turns/{id}/cancel"
  },
  userTokens: {
    create: "post /api/user-tokens",
    withdraw: "delete /api/user-tokens"
  },
  users: {
    erase: "delete /api/users",
    export: "get /api/users/export"
  },
  ws: {
    createTicket: "post /api/ws/tickets"
  }
}
/** The same, abbreviated, with a star for each id. */
export const operations = {
  agents: "list get,create post,get get /*,patch patch /*,delete delete /*,getConfig get /*/config,putConfig put /*/config",
  capabilities: "list get",
  conversations: "list get,create post,get get /*,patch patch /*,delete delete /*,listMessages get /*/messages,writeMessage post /*/messages,patchMessage patch /*/messages/*,deleteMessage delete /*/messages/*,rateMessage put /*/messages/*/feedback,deleteFeedback delete /*/messages/*/feedback,listNotes get /*/notes,writeNote post /*/notes,deleteNote delete /*/notes/*,listTurns get /*/turns",
  engines: "list get",
  events: "list get",
  export: "exportConversations get",
  feedback: "list get",
  keys: "list get,create post,get get /*,patch patch /*,revoke delete /*,rotate post /*/rotate",
  limits: "get get",
  nodes: "list get",
  oauthClients: "list get,create post,get get /*,patch patch /*,revoke delete /*,rotate post /*/rotate",
  ping: "get get",
  principal: "get get",
  profiles: "list get,get get /*",
  regions: "list get",
  rules: "test post /test",
  turns: "list get,get get /*,answer post /*/actions,cancel post /*/cancel",
  userTokens: "create post,withdraw delete",
  users: "erase delete,export get /export",
  ws: "createTicket post /tickets"
};
