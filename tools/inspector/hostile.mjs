// Texts that would run, load or break out of something, were they ever taken for markup.

const RUN = "window.pwned=1";

/** Each is shown in every place where the page shows a text. */
export const VECTORS = [
  `<script>${RUN}</script>`,
  `<img src=x onerror=${RUN}>`,
  `<svg onload=${RUN}>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin=${RUN} attributeName=x dur=1s>`,
  `<body onload=${RUN}>`,
  `<iframe src="javascript:parent.pwned=1">`,
  `<iframe srcdoc="<script>parent.pwned=1</script>">`,
  `<object data="javascript:${RUN}">`,
  `<embed src="javascript:${RUN}">`,
  `<a href="javascript:${RUN}">press</a>`,
  `<details open ontoggle=${RUN}>`,
  `<input autofocus onfocus=${RUN}>`,
  `<video><source onerror=${RUN}></video>`,
  `<audio src=x onerror=${RUN}>`,
  `<marquee onstart=${RUN}>`,
  `<math><mtext><img src=x onerror=${RUN}>`,
  `<style>@import "//evil.example/x.css"</style>`,
  `<link rel=stylesheet href=//evil.example/x.css>`,
  `<meta http-equiv=refresh content="0;url=//evil.example/">`,
  `<base href=//evil.example/>`,
  `<form action=//evil.example/><button>go`,
  `<template><img src=x onerror=${RUN}></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `"><img src=x onerror=${RUN}>`,
  `'><svg/onload=${RUN}>`,
  `</textarea><script>${RUN}</script>`,
  `</title><script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `--><img src=x onerror=${RUN}>`,
  `]]><img src=x onerror=${RUN}>`,
  `javascript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `\${${RUN}}`,
  `{{constructor.constructor('${RUN}')()}}`,
  `&lt;img src=x onerror=${RUN}&gt;`,
  `<IMG SRC=x OnErRoR=${RUN}>`,
  `<img/src="x"/onerror="${RUN}">`,
  `\u202e<img src=x onerror=${RUN}>\u202c`,
  `__proto__`,
  `constructor`,
];

/** A text as a kind may be: 64 bytes at most. */
export function kind(vector) {
  let text = vector;
  while (new TextEncoder().encode(text).length > 64) text = text.slice(0, -1);
  return text;
}

/** A recipe whose own words are hostile. */
export const RECIPE = `haversack = 1
name = "hostile"
description = '''${VECTORS[1]}'''
extends = "everything"

[[layer]]
name = "found"
title = '''${VECTORS[1]}'''
`;
