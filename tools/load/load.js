// One scenario of the load test: which route, how many connections or which rate, for how long.
import http from 'k6/http';
import { Trend, Counter } from 'k6/metrics';

const words = JSON.parse(open(__ENV.QUESTIONS));
const url = `${__ENV.URL}/v1/workspaces/load/${__ENV.ROUTE}`;
const rate = Number(__ENV.RATE || 0);
const overhead = new Trend('overhead', true);
const refusal = new Trend('refusal', true);
const served = new Trend('served', true);
const failed = new Counter('failed');

export const options = {
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max', 'count'],
  discardResponseBodies: false,
  scenarios: {
    load: rate
      ? {
          executor: 'constant-arrival-rate',
          rate,
          timeUnit: '1s',
          duration: __ENV.DURATION,
          preAllocatedVUs: Number(__ENV.CONNECTIONS),
          maxVUs: Number(__ENV.CONNECTIONS),
        }
      : { executor: 'constant-vus', vus: Number(__ENV.CONNECTIONS), duration: __ENV.DURATION },
  },
};

export default function () {
  const query = words[Math.floor(Math.random() * words.length)];
  const body = __ENV.ROUTE.startsWith('context')
    ? { query, tokenBudget: 2000, limit: 50, cache: false }
    : { query, limit: 10 };
  const answer = http.post(url, JSON.stringify(body), {
    headers: { 'content-type': 'application/json' },
  });
  const took = answer.timings.waiting + answer.timings.sending + answer.timings.receiving;
  if (answer.status === 200) {
    served.add(took);
    if (__ENV.ROUTE.startsWith('context')) {
      // `pack;dur=` is what the call of the library took inside the server.
      overhead.add(took - Number(answer.headers['Server-Timing'].split('dur=')[1]));
    }
  } else if (answer.status === 503 || answer.status === 429) {
    refusal.add(took);
  } else {
    failed.add(1);
  }
}
