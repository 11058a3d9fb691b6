/* Devices by their User-Agents, as they are sent today. */
#include "http/agent.h"

#include <criterion/criterion.h>

Test(agent, is_told_by_its_words)
{
	static const struct {
		const char *text;
		enum agent  want;
	} rows[] = {
	    {"", AGENT_OTHER},
	    {"curl/8.5.0", AGENT_OTHER},
	    {"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0 "
	     "Safari/537.36",
	     AGENT_OTHER},
	    {"Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", AGENT_OTHER},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
	     "Gecko) "
	     "Version/18.0 Mobile/15E148 Safari/604.1",
	     AGENT_APPLE},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
	     "Gecko) "
	     "CriOS/129.0 Mobile/15E148 Safari/604.1",
	     AGENT_APPLE},
	    {"Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148", AGENT_APPLE},
	    {"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 "
	     "Safari/605.1.15",
	     AGENT_APPLE},
	    {"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0 "
	     "Mobile "
	     "Safari/537.36",
	     AGENT_ANDROID},
	    {"Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 Version/4.0 Chrome/129.0 "
	     "Mobile",
	     AGENT_IN_APP},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 "
	     "[FBAN/FBIOS;FBAV/450.0]",
	     AGENT_IN_APP},
	    {"Mozilla/5.0 (Linux; Android 13) Chrome/129.0 Mobile [FB_IAB/FB4A;FBAV/450.0;]", AGENT_IN_APP},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Mobile/15E148 Instagram 331.0",
	     AGENT_IN_APP},
	    {"Mozilla/5.0 (Linux; Android 13) Mobile Line/14.1.0/IAB", AGENT_IN_APP},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X) MicroMessenger/8.0.4", AGENT_IN_APP},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148 KAKAOTALK 10.4.5",
	     AGENT_IN_APP},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(agent_of(span_str(rows[i].text)), rows[i].want, "%s", rows[i].text);
}
