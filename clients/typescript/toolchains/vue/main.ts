import { randomId } from "agent-service-client";
import { createApp } from "vue";
import Chat from "./Chat.vue";

location.hash ||= randomId();
createApp(Chat, { name: location.hash.slice(1) }).mount("#app");
