import { Component } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { randomId } from "agent-service-client";
import { Chat } from "./chat";

location.hash ||= randomId();

@Component({ selector: "app-root", imports: [Chat], template: `<app-chat [name]="name" />` })
class App {
  readonly name = location.hash.slice(1);
}

bootstrapApplication(App).catch(console.error);
