// The chat templates of the four families, and conversations to render with them. See README.md for where each comes from.
import { readFileSync } from "node:fs";
import { real_files } from "./models.mjs";

const llama = real_files("llama3_1").config;
const qwen = real_files("qwen2_5").config;
const mini = JSON.parse(readFileSync(new URL("../../models/mini-mdm/tokenizer_config.json", import.meta.url), "utf8"));

// LLaDA's template is Llama 3's without the condition on its last part: it always opens the assistant's turn.
function llada_template() {
  const changed = llama.chat_template.replace("{% if add_generation_prompt %}", "").replace(/{% endif %}$/, "");
  if (changed.length !== llama.chat_template.length - "{% if add_generation_prompt %}{% endif %}".length) throw new Error("the Llama template is not the one expected");
  return changed;
}

// Dream's is Qwen2.5's with its own default system message.
function dream_template() {
  const theirs = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  if (!qwen.chat_template.includes(theirs)) throw new Error("the Qwen template is not the one expected");
  return qwen.chat_template.replaceAll(theirs, "You are a helpful assistant.");
}

// What Llama 3.1 as published adds to the above: tools, dates, and refusals. Our own words, the same constructs.
const llama_with_tools = `{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: tools\\n" }}
{%- endif %}
{{- "Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("only one call at a time") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {%- for arg_name, arg_val in tool_call.arguments | items %}
            {{- arg_name + '=' + (arg_val | tojson) }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- endif %}
        {%- endfor %}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
`;

export const families = [
  { name: "Llama 3.1", template: llama.chat_template, tokens: { bos_token: llama.bos_token, eos_token: llama.eos_token } },
  { name: "Qwen2.5", template: qwen.chat_template, tokens: { eos_token: qwen.eos_token, pad_token: qwen.pad_token } },
  { name: "LLaDA", template: llada_template(), tokens: { bos_token: "<|startoftext|>", eos_token: "<|endoftext|>" } },
  { name: "Dream", template: dream_template(), tokens: { bos_token: "<|beginoftext|>", eos_token: "<|endoftext|>", mask_token: "<|mask|>" } },
  { name: "Llama 3.1 with tools", template: llama_with_tools, tokens: { bos_token: "<|begin_of_text|>", eos_token: "<|eot_id|>" } },
  { name: "mini-mdm", template: mini.chat_template, tokens: { bos_token: mini.bos_token, eos_token: mini.eos_token } },
];

const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
const system = (content) => ({ role: "system", content });
const tools = [{ type: "function", function: { name: "tide", description: "Höhe der Flut\n", parameters: { type: "object", properties: { place: { type: "string", enum: ["a", "b"] }, hours: { type: "integer", minimum: 0 } }, required: ["place"] } } }, { type: "function", function: { name: "none", parameters: { type: "object", properties: { x: { type: ["null", "number"], default: null, maximum: 2.5 } } } } }];
const call = (name, args) => ({ type: "function", function: { name, arguments: args } });
const turns = (n) => Array.from({ length: n }, (_, i) => (i % 2 === 0 ? user(`Question ${i}?`) : assistant(`Answer ${i}.\n`)));

export const conversations = [
  { name: "one question", messages: [user("Where is the buoy?")] },
  { name: "with system", messages: [system("You are terse."), user("Where is the buoy?")] },
  { name: "three turns", messages: turns(3) },
  { name: "ends with the assistant", messages: turns(4) },
  { name: "forty turns with system", messages: [system("S"), ...turns(40)] },
  { name: "white space around", messages: [system("  s \n"), user("\n\n  padded\t "), assistant(" a "), user("b\u00a0")] },
  { name: "empty texts", messages: [system(""), user(""), assistant(""), user("")] },
  { name: "special tokens in the text", messages: [user("<|im_end|>\n<|im_start|>system\n<|eot_id|>{{ x }}{% if %}")] },
  { name: "many scripts", messages: [user("Wo ist die Boje? 浮标在哪里？ أين 😀👩‍💻 e\u0301")] },
  { name: "system later", messages: [user("a"), system("b"), user("c")] },
  { name: "two users in a row", messages: [user("a"), user("b")] },
  { name: "quotes and newlines", messages: [user("'\"\\n\n\r\n\\ {#x#}")] },
  { name: "long", messages: [user("word ".repeat(5000))] },
  { name: "tools", messages: [system("Use tools."), user("Tide?")], variables: { tools } },
  { name: "tools without system", messages: [user("Tide?")], variables: { tools } },
  { name: "calls and answers", messages: [user("Tide?"), { role: "assistant", content: "", tool_calls: [call("tide", { place: "a", hours: 3, why: "é\"" })] }, { role: "tool", content: "2 m" }, { role: "tool", content: "{\"ok\": true}" }, assistant("Two."), user("Thanks")], variables: { tools } },
  { name: "two calls at once", messages: [user("Tide?"), { role: "assistant", content: "I look.", tool_calls: [call("tide", { place: "a" }), { name: "tide", arguments: { place: "b", list: [1, [], {}] } }] }, { role: "tool", content: "1" }], variables: { tools } },
];
