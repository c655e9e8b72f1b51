#pragma once
long helper_version();
